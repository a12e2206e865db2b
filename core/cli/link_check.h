#pragma once

// What the links and devices of a run are found to be before its first trial.

#include <string>
#include <vector>

#include "plan/plan.h"
#include "process/supervisor.h"
#include "results/link_measurements.h"

namespace mgcompare {

// A short check of the links between devices that the plan uses, for each kind: those of its largest trial. A problem taints the run.
std::vector<LinkMeasurements> check_links(Supervisor& supervisor, const Plan& plan);

// Reasons to doubt the results: broken links, and problems of the devices that the plan uses.
std::vector<std::string> taints_of(const Plan& plan, const std::vector<LinkMeasurements>& links);

}  // namespace mgcompare
