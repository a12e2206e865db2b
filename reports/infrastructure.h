#pragma once

// Names of machines in reports of several runs, and what differs between the runs.

#include <string>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

// "2 x NVIDIA H200, AMD EPYC 9654, 96 physical, 192 logical cores, 377.5 GiB, Linux 6.1"
std::string infrastructure(const Run& run);

// For each run a name that no other has, as short as possible: the devices that it used ("2 x NVIDIA H200", "AMD EPYC 9654");
// for runs on equal devices also the first of these that differs: versions of the driver, the libraries and the kernel, the
// program's version, the name of the experiment, the data, the directory.
std::vector<std::string> short_names(const std::vector<Run>& runs);

// Sentences about what makes rows of different runs hard to compare: settings, data and versions. `names`: short_names().
std::vector<std::string> differences(const std::vector<Run>& runs, const std::vector<std::string>& names);

// The network of a comparison, also if it is the only one.
std::string network_of(const Comparison& comparison);

}  // namespace mgcompare
