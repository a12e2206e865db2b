#pragma once

// How long the rest of a verification takes, by the rows before. Each row is checked, and once more in another process.

#include <cstddef>

namespace mgcompare {

class VerifyPace {
 public:
  // A version of the config begins: `rows` are checked, `again` of them once more, and then `later` rows of other versions.
  void begin(std::size_t rows, std::size_t again, std::size_t later);
  // A row was checked. One that has failed is not checked again.
  void checked(double seconds, bool passed);
  void checked_again(double seconds);
  // As far as it is known; 0: nothing is.
  double seconds_left() const;

 private:
  struct Pass {
    std::size_t left = 0, done = 0;
    double seconds = 0;

    void end_row(double row_seconds);
    double mean() const { return seconds / static_cast<double>(done); }
  };

  Pass first_, again_;
  std::size_t later_ = 0;
};

}  // namespace mgcompare
