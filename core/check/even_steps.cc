#include "check/even_steps.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace mgcompare {
namespace {

using std::chrono::microseconds;

constexpr microseconds kPause{50}, kMost{1000};

}  // namespace

void EvenSteps::step(std::size_t rank) {
  const std::size_t made = steps_[rank]++;
  const auto is_behind = [made](const std::atomic<std::size_t>& other) { return other < made; };
  microseconds waited{0};
  do {
    std::this_thread::sleep_for(kPause);
    waited += kPause;
  } while (waited < kMost && std::any_of(steps_.begin(), steps_.end(), is_behind));
}

}  // namespace mgcompare
