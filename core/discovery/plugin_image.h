#pragma once

// What the bytes of a plugin file say. The bytes are not trusted: every offset and size is checked before it is used, and the
// time is linear in their number.

#include <string>
#include <string_view>
#include <vector>

namespace mgcompare {

// The largest plugin file that is read.
inline constexpr std::size_t kPluginLimit = std::size_t{256} << 20;

// The text of a plugin's record, safe to print.
struct PluginRecord {
  std::string contract, name, description;
};

// Throws Error, the rest of a sentence about the file, for a system error of opening or reading it.
[[noreturn]] void refuse_unreadable(int code);

// The bytes of a file. Throws Error, the rest of a sentence about the file ("does not exist"), unless it is a regular file of
// at most kPluginLimit bytes that begins like a shared library. Symbolic links are followed. Nothing else is opened: opening
// a device or a pipe can block.
std::string read_plugin_bytes(const std::string& file);

// Throws Error, likewise, unless the bytes are a complete shared library for this machine that has the symbol of a plugin.
// Everything that the loader maps must be in the file.
void check_library(std::string_view bytes);

// What a shared library tells the loader about others, in its dynamic section.
struct NeededLibraries {
  std::vector<std::string> names;    // DT_NEEDED: "libc.so.6"
  std::vector<std::string> folders;  // DT_RPATH and DT_RUNPATH, as they are written: "$ORIGIN/../lib"
};

// Throws Error, the rest of a sentence about the file, unless the bytes are a complete shared library for this machine.
NeededLibraries needed_libraries(std::string_view bytes);

// The contents of all sections of this name; none if the library has no table of sections. Throws Error, likewise, if they are not in the file.
std::vector<std::string_view> sections_named(std::string_view bytes, std::string_view name);

// The same library with variables of its own. The loader merges variables whose symbols are marked as unique, such as static
// members that are inline, over all libraries of a process; here they are not marked. The bytes must be those of a library.
std::string with_own_variables(std::string bytes);

// Finds the next record in `rest` and removes it from there, with all bytes before it. Returns false if there is none.
bool next_record(std::string_view& rest, PluginRecord& record);

}  // namespace mgcompare
