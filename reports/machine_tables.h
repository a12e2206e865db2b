#pragma once

// The tables of a report on the placement of the ranks, the measured links between devices, and the machine. Without lines if
// nothing is known.

#include "reports/tables.h"

namespace mgcompare {

Table placement_table(const Comparison& comparison);
Table links_table(const Run& run);
Table environment_table(const Run& run);

}  // namespace mgcompare
