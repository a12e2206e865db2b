#pragma once

// What the findings of several checks are called: the same check of a strategy in another place has the same name.

namespace mgcompare {

inline constexpr char kResumes[] = "interrupted and resumed, it ends with the same weights";
inline constexpr char kDepends[] = "the model depends on every rank's samples";
inline constexpr char kStatistics[] = "after each epoch, the statistics of batch normalisation are those of one device";

}  // namespace mgcompare
