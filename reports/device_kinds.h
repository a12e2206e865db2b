#pragma once

// Kinds of devices against each other, by their one-device baselines: "one GPU is 41 times one CPU core". Of all runs of a report.

#include <string>
#include <vector>

#include "reports/overview.h"

namespace mgcompare {

// A line for each network, batch and variant and each device other than the slowest, if there are baselines on more than one.
Table device_table(const Overview& overview);
// One sentence for each network and device, of the largest batch that both have.
std::vector<std::string> device_sentences(const Overview& overview);

}  // namespace mgcompare
