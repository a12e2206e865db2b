#pragma once

// What differs between two stored configs.

#include <string>
#include <vector>

namespace mgcompare {

// The dotted keys of settings that differ, of elements of lists too ("scaling.batch.1"). `one` and `other` are JSON.
std::vector<std::string> differing_keys(const std::string& one, const std::string& other);

}  // namespace mgcompare
