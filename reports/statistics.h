#pragma once

// A figure over its repeats, and whether two of them differ.

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace mgcompare {

struct Spread {
  double median = 0, least = 0, most = 0;
  std::size_t count = 0;            // 0: there is no such figure
  double low = 0, high = 0;         // of the median, 95 % of seeded resamples; least and most where there are few repeats
  std::vector<double> values;       // sorted
};

// Values that are not finite are left out.
Spread spread_of(std::vector<double> values);
// The same figure in another unit.
Spread scaled(Spread spread, double factor);

// Of values in any order, those whose modified z-score is beyond 3.5 (Iglewicz and Hoaglin, 1993). They are shown, never
// dropped. Fewer than five values have none.
std::vector<bool> outliers(const std::vector<double>& values);

enum class Order { below, above, undecided };

// Fewer repeats of a side decide nothing.
inline constexpr std::size_t kDecisiveRepeats = 3;
// From so many a side on, the Mann-Whitney test decides.
inline constexpr std::size_t kTestedRepeats = 9;
// Medians that are closer than this are not told apart, whatever their repeats say.
inline constexpr double kNoiseFloor = 0.02;

// Whether figures of the one kind lie below those of the other. With nine repeats a side the rank test decides at 5 %.
// With fewer, no two of different sides may overlap, and the gap must be a third of the wider side: of equal kinds, three
// repeats each do that in less than 4 % of comparisons (without the gap in 10 %). Anything else is undecided.
Order compare(const Spread& one, const Spread& other);
// The same for a whole table, whose tests share the 5 % (Holm, 1979).
std::vector<Order> compare_all(const std::vector<std::pair<const Spread*, const Spread*>>& pairs);
// What keeps a pair that was found undecided from being decided, as a phrase.
std::string_view doubt_of(const Spread& one, const Spread& other);

}  // namespace mgcompare
