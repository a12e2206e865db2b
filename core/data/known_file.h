#pragma once

// A file of a published data set, plain or compressed by gzip, with the checksum of its unpacked bytes.

#include <optional>
#include <string>
#include <vector>

namespace mgcompare {

struct KnownFile {
  std::string name;
  std::string sha256;               // of the unpacked bytes, hexadecimal
};

// The files of these names, with ".gz" or without, that are in the folder; and the first of them.
std::vector<std::string> all_in(const std::string& folder, const std::vector<std::string>& names);
std::optional<std::string> find_in(const std::string& folder, const std::vector<std::string>& names);

// The one file of these names, or nothing. Of a file and its packed form with the same bytes, the latter. Throws DataError if two could be
// meant.
std::optional<std::string> only_one(const std::string& folder, const std::vector<std::string>& names);

// "checksum 1234... is not that of SET's NAME (5678...)", or "" if it is.
std::string wrong_checksum(const std::string& found, const KnownFile& file, const std::string& set);

}  // namespace mgcompare
