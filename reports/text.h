#pragma once

// Names, causes and log lines come from plugins, files and other programs. These make them inert in each kind of
// output.

#include <string>
#include <string_view>

#include "base/text.h"

namespace mgcompare {

// A cell of a Markdown table, or a piece of its running text: no markup, no HTML, no end of the cell.
std::string markdown(std::string_view text);
// A block of code with a fence that nothing in it can close.
std::string markdown_code(std::string_view text, std::string_view language = "");
// A text field of a CSV file, quoted where needed; a spreadsheet does not take it for a formula.
std::string csv_field(std::string_view text);

// "0.9912", "12,345", "1.25 s", "18.5 MB", "-" where there is no such figure.
std::string accuracy_text(double accuracy);
std::string count_text(double count);
std::string rate_text(double per_second);  // four figures: nothing that was timed is known better
std::string seconds_text(double seconds);
std::string bytes_text(double bytes);
std::string percent_text(double share);
std::string change_text(double share);  // "+4.2 %", "-12 %"
std::string target_text(double share);  // "98.5 %": as it was asked for

}  // namespace mgcompare
