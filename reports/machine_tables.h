#pragma once

// The tables of a report about where things were: the ranks' placement, the links between devices, and the machine. Without
// lines where nothing is known.

#include "reports/tables.h"

namespace mgcompare {

Table placement_table(const Comparison& comparison);
Table links_table(const Run& run);
Table environment_table(const Run& run);

}  // namespace mgcompare
