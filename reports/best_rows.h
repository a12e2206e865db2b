#pragma once

// The best row of each number of devices, over all batches and strategies, with the settings that it used.

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

// By the objective of the comparison; only rows that can be ranked. Without lines if there is only one number of devices.
Table best_rows_table(const Comparison& comparison);

}  // namespace mgcompare
