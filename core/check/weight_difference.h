#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mgcompare {

// Of two elements; infinite if a difference is not finite or the lengths differ.
double largest_difference(const std::vector<float>& a, const std::vector<float>& b);
// Over the ranks that are expected, which may be fewer than there are.
double largest_difference(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& weights);

// "the same bits after 40 steps", "differs by 1.2e-07 after 40 steps, limit 1e-05"; limit 0: not mentioned.
std::string difference_text(double difference, double limit, std::size_t steps);

}  // namespace mgcompare
