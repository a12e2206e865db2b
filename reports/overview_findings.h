#pragma once

// The findings of a whole report: those of each part, and those that concern all of them.

#include <string>
#include <vector>

#include "reports/findings.h"
#include "reports/overview.h"

namespace mgcompare {

// All findings. With several parts, those of each follow its title.
std::vector<Finding> findings(const Overview& overview);
// Limitations of all results: of the data, of the config, of what has not finished, and what differs between the runs.
std::vector<Finding> reservations(const Overview& overview);
// Shown first in a report while trials are unfinished: "Partial: 3 of 9 trials ..."; empty if all have finished.
std::string partial_text(const Overview& overview);
// Warnings of the plans and notes of the rows, each once.
std::vector<std::string> notes_of(const Overview& overview);
// Why all figures are doubtful.
std::vector<std::string> taints_of(const Overview& overview);

}  // namespace mgcompare
