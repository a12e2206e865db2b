#pragma once

// The tables of a report about where things were: the ranks' placement, and the links between devices. Without lines where
// nothing is known.

#include "reports/tables.h"

namespace mgcompare {

Table placement_table(const Comparison& comparison);
Table links_table(const Run& run);

}  // namespace mgcompare
