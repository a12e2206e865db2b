#include "cli/data_messages.h"

#include <fmt/core.h>

#include "base/number_text.h"
#include "base/print.h"
#include "base/text.h"

namespace mgcompare {

DataMessages::DataMessages(const Command& command) : terminal_(terminal_of(2, command.color)), quiet_(command.quiet) {}

DataMessages::~DataMessages() { clear(); }

void DataMessages::show(const nlohmann::json& note) {
  if (quiet_) return;
  if (note.contains("text")) {
    clear();
    print_stderr("{}\n", plain(note["text"].get<std::string>()));
  } else if (note.contains("download") && terminal_.live) {
    const auto bytes = note.at("bytes").get<double>(), total = note.at("total").get<double>();
    // Not every server says how much it sends.
    const std::string text = fmt::format("downloading {}: {}{} bytes", plain(note["download"].get<std::string>()), thousands(bytes),
                                         total > 0 ? " of " + thousands(total) : "");
    print_stderr("\r\x1b[K{}", fitting(text, columns_of(2) - 1));
    is_drawn_ = true;
  }
}

void DataMessages::clear() {
  if (is_drawn_) print_stderr("\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace mgcompare
