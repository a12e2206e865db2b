#pragma once

// The dynamic entries of a plugin file, for tests that change them.

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace mgcompare {

// Calls change(value), which takes a std::uint64_t&, for each dynamic entry with this tag, and writes the value back into the
// file's bytes. Returns the number of such entries. The file must be a whole ELF file.
template <class Change> int change_dynamic_entries(std::string& bytes, std::int64_t tag, const Change& change) {
  int found = 0;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, &bytes[header.e_phoff + i * sizeof segment], sizeof segment);
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::size_t at = segment.p_offset; at < segment.p_offset + segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, &bytes[at], sizeof entry);
      if (entry.d_tag != tag) continue;
      std::uint64_t value = entry.d_un.d_val;
      change(value);
      entry.d_un.d_val = value;
      std::memcpy(&bytes[at], &entry, sizeof entry);
      ++found;
    }
  }
  return found;
}

}  // namespace mgcompare
