#include "cli/manual_page.h"

#include <string_view>

#include <fmt/core.h>

#include "cli/command_description.h"

namespace mgcompare {
namespace {

// Text of a page: a backslash, a hyphen, and a point or quote at the start of a line have other meanings there.
std::string roff_escaped(std::string_view text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\'')) result = "\\&";
  for (const char c : text) {
    if (c == '\\') result += "\\e";
    else if (c == '-') result += "\\-";
    else if (c == '~') result += "\\(ti";
    else if (c == '^') result += "\\(ha";
    else if (c == '`') result += "\\(ga";
    else result += c;
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + roff_escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff_escaped(text) + "\\fR"; }

std::string entry(const std::string& term, std::string_view text) { return fmt::format(".TP\n{}\n{}\n", term, roff_escaped(text)); }

std::string term_of(const OptionDescription& option) {
  if (option.is_positional()) return italic(option.value) + (option.repeatable ? " ..." : "");
  std::string term = (option.short_name.empty() ? "" : bold(option.short_name) + ", ") + bold(option.long_name);
  if (!option.value.empty()) term += " " + italic(option.value);
  return term;
}

std::string section_of(const CommandDescription& command) {
  const std::string arguments = command.arguments();
  std::string text = fmt::format(".SS {}{}{}\n{}\n", roff_escaped(command.name()), arguments.empty() ? "" : " ", roff_escaped(arguments), roff_escaped(command.purpose));
  for (const OptionDescription& option : command.options) text += entry(term_of(option), option.text);
  text += ".PP\nExamples:\n.PP\n.nf\n.RS\n";
  for (const std::string& example : command.examples) text += roff_escaped(example) + "\n";
  return text + ".RE\n.fi\n";
}

}  // namespace

std::string manual_page() {
  std::string text =
      "." R"(\" Written by `mgcompare help --man`.)" "\n"
      ".TH MGCOMPARE 1 \"\" \"mgcompare " MGCOMPARE_VERSION "\" \"User Commands\"\n"
      ".SH NAME\nmgcompare \\- train a network with several multi\\-device strategies and compare them\n"
      ".SH SYNOPSIS\n.B mgcompare\n.RI [ COMMAND ]\n.RI [ OPTIONS ]\n.RI [ ARGUMENTS ]\n"
      ".SH DESCRIPTION\n"
      "Trains one network with many multi\\-device strategies and reports whether several devices are worthwhile: with which strategy, by "
      "how much, with what certainty, and why.\n"
      "The word\n.B run\nmay be left out before a config.\n"
      "Results go to standard output, everything else to standard error.\n"
      ".SH OPTIONS\nAll commands take these options.\n";
  for (const OptionDescription& option : general_options()) text += entry(term_of(option), option.text);
  text += entry(bold("--version"), "Print the version; used alone") + ".SH COMMANDS\n";
  for (const CommandDescription& command : all_commands()) text += section_of(command);
  text += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_codes()) text += entry(bold(code), meaning);
  text += ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : environment_variables()) text += entry(bold(name), meaning);
  text += ".SH FILES\n" + entry(italic("runs/NAME-TIME/"), "Results and reports of a run") +
          entry(italic("share/mgcompare/configs/*.yaml"), "Installed experiments") +
          entry(italic("share/mgcompare/mgcompare.schema.json"), "JSON schema of a config, for editors") +
          entry(italic("lib/mgcompare/plugins/"), "Strategies and backends of the program") +
          entry(italic("share/doc/mgcompare/"), "Documentation: README.md, docs/ and a README.md for each strategy") +
          ".SH SEE ALSO\n" + roff_escaped("share/doc/mgcompare/docs/getting-started.md and README.md, the list of all pages, beside it; paths are relative to the prefix of the installation.") + "\n";
  return text;
}

}  // namespace mgcompare
