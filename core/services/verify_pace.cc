#include "services/verify_pace.h"

#include <algorithm>

namespace mgcompare {
namespace {

// Of the time of the first checks of a row, before any was checked again: a few of some hundred trainings.
constexpr double kShareOfAgain = 0.1;

}  // namespace

void VerifyPace::Pass::end_row(double row_seconds) {
  left -= std::min<std::size_t>(left, 1);
  ++done;
  seconds += row_seconds;
}

void VerifyPace::begin(std::size_t rows, std::size_t again, std::size_t later) {
  first_.left = rows;
  again_.left = again;
  later_ = later;
}

void VerifyPace::checked(double seconds, bool passed) {
  first_.end_row(seconds);
  if (!passed) again_.left -= std::min<std::size_t>(again_.left, 1);
}

void VerifyPace::checked_again(double seconds) { again_.end_row(seconds); }

double VerifyPace::seconds_left() const {
  if (first_.done == 0) return 0;
  const double mean = first_.mean(), again = again_.done > 0 ? again_.mean() : kShareOfAgain * mean;
  return static_cast<double>(first_.left + later_) * mean + static_cast<double>(again_.left + later_) * again;
}

}  // namespace mgcompare
