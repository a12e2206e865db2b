#pragma once

// A figure over its repeats.

#include <cstddef>
#include <vector>

namespace mgcompare {

struct Spread {
  double median = 0, least = 0, most = 0;
  std::size_t count = 0;            // 0: there is no such figure
};

// Values that are not finite are left out.
Spread spread_of(std::vector<double> values);

enum class Order { below, above, undecided };

// Of equal kinds, three repeats each lie apart by chance once in ten comparisons; two would once in three.
inline constexpr std::size_t kDecisiveRepeats = 3;

// Whether figures of the one kind lie below those of the other: with enough repeats each, of which no two from different
// sides overlap. Anything else is undecided.
Order compare(const Spread& one, const Spread& other);

}  // namespace mgcompare
