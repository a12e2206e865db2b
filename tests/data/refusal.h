#pragma once

// What readers do with bad files.

#include <functional>
#include <string>

#include "data/dataset.h"
#include "data/files.h"
#include "mgcompare/random.h"

namespace mgcompare {

// The message of the DataError that a call throws.
inline std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

// Damages the file in `rounds` ways and reads each. Returns how many were refused with DataError; other errors pass through.
inline int refused_mutants(const Bytes& whole, int rounds, const std::function<void(const std::string& path)>& read) {
  const Folder folder;
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    const Random random(static_cast<std::uint64_t>(round), 11);
    Bytes bytes = whole;
    for (std::uint64_t change = 0; change < 1 + random.below(0, 3); ++change)
      bytes[random.below(3 * change + 1, bytes.size())] = static_cast<std::uint8_t>(random.word(3 * change + 2));
    if (random.below(50, 6) == 0) bytes.resize(random.below(51, bytes.size() + 9));
    const std::string path = folder.write("mutant", bytes);
    try {
      read(path);
    } catch (const DataError&) {
      ++refused;
    }
  }
  return refused;
}

}  // namespace mgcompare
