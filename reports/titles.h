#pragma once

// How sentences and tables name rows and give figures with their intervals.

#include <string>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

// "2 CPU cores", "4 GPUs"
std::string devices_text(std::size_t count, DeviceKind kind);
// "replicated on 2 CPU cores, batch 128, variant big"; in a comparison of several networks "lenet: replicated on ..."
std::string title_of(const Cell& cell);
// "a; b; c and 4 more rows"
std::string titles_of(const std::vector<const Cell*>& cells);
// "1.92"
std::string factor_text(double factor);
// "3.12 s [2.90 s .. 3.30 s]"; with one repeat only the median, with none "-".
std::string with_range(const Spread& spread, std::string (*text)(double));
// "1.92 [1.78 .. 2.05]"
std::string with_range(const Spread& spread);
// "0.9912", or "0.9812, mean of 4 models".
std::string accuracy_of(const Cell& cell);

}  // namespace mgcompare
