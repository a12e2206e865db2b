#pragma once

// Where the folder of a published data set is looked for: the config's `path`, --data, MGCOMPARE_DATA, the cache of downloads.

#include <concepts>
#include <functional>
#include <string>

#include "data/source.h"

namespace mgcompare {

struct FoundFolder {
  std::string path;                 // empty: none
  std::string how;                  // "--data"; empty for the cache
};

// The first folder that applies. --data and MGCOMPARE_DATA name the set's folder, or one with a subfolder called `set`.
// `has_files`: whether a folder has at least one file of the set. A folder that the user named is used, whatever is in it; only
// MGCOMPARE_DATA, which may be meant for another set, is passed over if it has subfolders but not this one.
FoundFolder find_folder(const DataPlaces& places, const std::string& path, const std::string& set,
                        const std::function<bool(const std::string&)>& has_files);

// Throws DataError if `data.path` of a set with these files names a file in place of the folder.
void expect_no_file(const std::string& path, const std::string& files);

// The same error, which says who named the folder.
DataError explained(const DataError& error, const FoundFolder& folder);

// What `read` returns. A DataError of a folder that the user named is thrown as explained().
template <std::invocable Read> auto explaining(const FoundFolder& folder, const Read& read) {
  try {
    return read();
  } catch (const DataError& error) {
    if (folder.how.empty()) throw;
    throw explained(error, folder);
  }
}

// The cache folder of a set. Throws DataError if nothing may be downloaded.
std::string cache_of(const DataPlaces& places, const std::string& set);

// Creates a folder with its parents. Throws DataError.
void make_folder(const std::string& folder);

}  // namespace mgcompare
