#pragma once

// Texts that a plugin, a config, a log or an environment could contain, and that a page, a table, a spreadsheet or a terminal
// would obey if it took them as they are. HIT marks code that runs.

#include <string>
#include <vector>

#include "results/runs.h"

namespace mgcompare {

enum class Obeyed {
  script,   // a browser runs its code
  request,  // a browser loads something from mgcompare.invalid
  no        // not by a browser, or not as a part of a page
};

struct HostileText {
  std::string text;
  Obeyed by_a_browser;
};

inline const std::vector<HostileText>& hostile_texts() {
  using enum Obeyed;
  static const std::vector<HostileText> texts = {
      {"<script>HIT</script>", script},
      {"</script><img src=x onerror=\"HIT\">", script},
      {"\"><script>HIT</script>", script},
      {"'><img src=x onerror='HIT'>", script},
      {"--><script>HIT</script>", script},
      {"]]></style></title></textarea><script>HIT</script>", script},
      {"<svg onload=\"HIT\"></svg>", script},
      {"<svg><script>HIT</script></svg>", script},
      {"<details open ontoggle=\"HIT\"></details>", script},
      {"<input autofocus onfocus=\"HIT\">", script},
      {"<video><source onerror=\"HIT\"></video>", script},
      {"<iframe srcdoc=\"<script>parent.HIT</script>\"></iframe>", script},
      {"<style onload=\"HIT\"></style>", script},
      {"<ScRiPt>HIT</ScRiPt >", script},
      {"<img src=\"http://mgcompare.invalid/image\">", request},
      {"<link rel=stylesheet href=\"http://mgcompare.invalid/sheet\">", request},
      {"<style>@import 'http://mgcompare.invalid/import';</style>", request},
      {"<object data=\"http://mgcompare.invalid/object\"></object>", request},
      {"<script src=\"http://mgcompare.invalid/script\"></script>", request},
      {"<a href=\"javascript:HIT\">x</a>", no},
      {"{{{HIT}}} {{&HIT}} ${HIT} <%= HIT %>", no},
      {"&lt;script&gt;HIT&lt;/script&gt; &#60;img src=x onerror=HIT&#62;", no},
      {"=cmd|' /C calc'!A0", no},
      {"+1+cmd|' /C calc'!A0", no},
      {"-1+cmd|' /C calc'!A0", no},
      {"@SUM(1+1)*cmd|' /C calc'!A0", no},
      {"\t=1+1", no},
      {"a | b | c\n| --- |\n# heading\n```\nout", no},
      {"[a](javascript:b) ![x](http://mgcompare.invalid/)", no},
      {"\x1b]0;title\a\x1b[2J\x1b[31m\r\b\xc2\x9b" "31m", no},
      {"\xe2\x80\xae" "gnp.exe \xff\xc0\x80", no},
  };
  return texts;
}

// The text with its code. `code` must not contain quotes or angle brackets.
inline std::string with_code(std::string text, const std::string& code) {
  for (std::size_t at = 0; (at = text.find("HIT", at)) != std::string::npos; at += code.size()) text.replace(at, 3, code);
  return text;
}

// A run in which everything that comes from outside of the program is one of these texts, and every text is everything.
inline Run hostile_run(const std::vector<std::string>& texts) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  std::string all;
  for (const std::string& text : texts) {
    all += text + "\n";
    Row& row = maker.add(text, 2, 1, make_result(1600, 5, 0.98));
    Config config = *row.config;
    config.path = config.model.name = text;
    row.config = std::make_shared<const Config>(config);
    row.result.notes = {text};
    row.result.metrics = {{{text, {.mean = 1}}}};
    row.result.placement = {{text, {{text, text, 1}}, {{text, text, 1, 1}}}};
    for (const std::size_t devices : {1, 2}) {
      Result result = make_result(500, 0, 0.98);
      result.framework = result.framework_version = text;
      result.versions = {{text, text}};
      result.like = devices == 1 ? "alone" : text;
      for (EpochResult& epoch : result.epochs) epoch.seconds_reported = epoch.seconds_training;
      Row& foreign = maker.add(text + " foreign", devices, 1, result);
      foreign.trial.plugin_file = text + "/backend.json";
    }
    maker.failed(text, 4, 1, "crashed", text).result.log = {text};
    maker.run.info.warnings.push_back(text);
    maker.run.info.taints.push_back(text);
    maker.run.info.environment.push_back({text, text});
    maker.run.info.arguments = {"--set", text};
  }
  maker.run.info.links = {{.kind = texts[0], .devices = {{}}, .pairs = {{}}, .all_reduces = {{2, 4096, 1e-6}}}};
  maker.run.info.name = maker.run.info.data_name = maker.run.info.data_origin = all;
  maker.run.info.started = maker.run.info.program_version = maker.run.info.config_yaml = all;
  return maker.run;
}

}  // namespace mgcompare
