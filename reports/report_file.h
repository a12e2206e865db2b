#pragma once

// Writes one file of a report. Readers see the previous file or the complete new one.

#include <functional>
#include <string>
#include <string_view>

namespace mgcompare {

// Throws NotWritable, which names the path and says how to write the file again.
void write_report_file(const std::string& path, std::string_view text);

// For text in pieces: `write` is called once, with a function that appends to the file.
using Append = std::function<void(std::string_view)>;
void write_report_file(const std::string& path, const std::function<void(const Append&)>& write);

}  // namespace mgcompare
