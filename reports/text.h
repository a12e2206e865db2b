#pragma once

// Escaping of text from plugins, files and other programs for each output format, and the format of figures.

#include <string>
#include <string_view>

#include "base/text.h"

namespace mgcompare {

// For a cell of a Markdown table or for running text: escapes markup, HTML and the end of the cell.
std::string markdown(std::string_view text);
// The same for a sentence, with code between backticks (code_spans.h).
std::string markdown_sentence(std::string_view text);
// A fenced code block; the fence is longer than any in the text.
std::string markdown_code(std::string_view text, std::string_view language = "");
// A text field of a CSV file, quoted if needed. Text that a spreadsheet would read as a formula begins with an apostrophe.
std::string csv_field(std::string_view text);

// "0.9912", "12,345", "1.25 s", "18.5 MB"; "-" if the value is not finite.
std::string accuracy_text(double accuracy);
std::string count_text(double count);
std::string rate_text(double per_second);  // four significant digits
std::string seconds_text(double seconds);
std::string bytes_text(double bytes);
std::string percent_text(double share);
std::string change_text(double share);  // "+4.2 %", "-12 %"
std::string target_text(double share);  // "98.5 %", without rounding to fewer digits than in the config

}  // namespace mgcompare
