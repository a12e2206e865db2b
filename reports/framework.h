#pragma once

// What trained a row: the program itself, or the framework of a backend (docs/backend-protocol.md). Texts are plain().

#include <string>
#include <utility>
#include <vector>

#include "results/results_store.h"

namespace mgcompare {

// Whether a strategy trained it, not a backend.
bool is_own(const Row& row);
// kOwnFramework, or "PyTorch"; for results that do not say it, the name of the backend.
std::string framework_of(const Row& row);
// "PyTorch 2.11.0"; without a version that is known only the name.
std::string framework_title(const Row& row);
// The name of the strategy that computes in this way: that of the row itself, or the one that its backend names. Empty if none is known,
// and for a row of the program itself whose options make it approximate.
std::string like_of(const Row& row);

// One framework with the versions of one description.
struct Framework {
  std::string name, version;        // version: may be empty
  std::vector<std::pair<std::string, std::string>> versions;  // all that the backend gave: {"cuda", "12.6"}

  bool operator==(const Framework&) const = default;
};
// Of the rows of a run that are done, without the program itself; each once, by name and version.
std::vector<Framework> frameworks_of(const Run& run);
// "2.11.0 (cuda 12.6, python 3.11.2)"
std::string versions_text(const Framework& framework);
// Frameworks that both runs have in different versions: "PyTorch: 2.10.0 (cuda 12.6) and 2.11.0 (cuda 12.6)".
std::vector<std::string> differing_frameworks(const Run& one, const Run& other);

}  // namespace mgcompare
