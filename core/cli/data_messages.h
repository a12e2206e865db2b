#pragma once

#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/progress_display.h"

namespace mgcompare {

// Prints the notes of a worker that loads the data: lines of text, and the progress of a download, which a terminal draws
// on one line. Prints nothing with --quiet.
class DataMessages {
 public:
  explicit DataMessages(const Command& command);
  ~DataMessages();

  // {"text": ...} or {"download": name, "bytes": ..., "total": ...}.
  void show(const nlohmann::json& note);

 private:
  void clear();

  Terminal terminal_;
  bool quiet_;
  bool is_drawn_ = false;
};

}  // namespace mgcompare
