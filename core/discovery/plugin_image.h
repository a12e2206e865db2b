#pragma once

// What the bytes of a plugin file say. The bytes are not trusted: every offset and size is checked before it is used, and the
// time is linear in their number.

#include <string>
#include <string_view>

namespace mgcompare {

// The largest plugin file that is read.
inline constexpr std::size_t kPluginLimit = std::size_t{256} << 20;

// The text of a plugin's record, safe to print.
struct PluginRecord {
  std::string contract, name, description;
};

// The bytes of a file. Throws Error, the rest of a sentence about the file ("does not exist"), unless it is a regular file of
// at most kPluginLimit bytes that begins like a shared library. Symbolic links are followed. Nothing else is opened: opening
// a device or a pipe can block.
std::string read_plugin_bytes(const std::string& file);

// Throws Error, likewise, unless the bytes are a complete shared library for this machine that has the symbol of a plugin.
// Everything that the loader maps must be in the file.
void check_library(std::string_view bytes);

// Finds the next record in `rest` and removes it from there, with all bytes before it. Returns false if there is none.
bool next_record(std::string_view& rest, PluginRecord& record);

}  // namespace mgcompare
