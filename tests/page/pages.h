#pragma once

// Pages of synthetic runs.

#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "page/browser.h"
#include "reports/assets.h"
#include "reports/charts/drawing.h"
#include "reports/html.h"
#include "results/runs.h"

namespace mgcompare {

// Skips the test if no browser is available.
class Page : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = missing_browser(); !missing.empty()) GTEST_SKIP() << missing;
  }
};

// One device without an exchange, and another strategy on 1, 2 and 4 devices, with two batches, three repeats each.
inline mgcompare::Run wide_run(const std::string& odd_name = "together") {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const std::size_t batch : {128, 512}) {
      const double speed = static_cast<double>(batch) * (1 + 0.005 * static_cast<double>(seed));
      maker.baseline(seed, make_result(10 * speed, 8, 0.985), batch);
      for (const std::size_t devices : {1, 2, 4})
        maker.add(odd_name, devices, seed, make_result(9 * speed * static_cast<double>(devices), 5, 0.984), batch);
    }
  }
  return maker.run;
}

// The baseline and twelve strategies on one device and two, each faster than the one before. The first reaches the
// target soonest; odd-numbered ones are approximate.
inline mgcompare::Run crowded_run() {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 8, 0.985));
    for (std::size_t k = 0; k < 12; ++k) {
      const double speed = 900 + 20 * static_cast<double>(k), seconds = k == 0 ? 3 : 5 + 0.1 * static_cast<double>(k);
      for (const std::size_t devices : {1, 2}) {
        Row& row = maker.add(fmt::format("s{}", k), devices, seed,
                             make_result(speed * static_cast<double>(devices), seconds / static_cast<double>(devices), 0.984));
        if (k % 2 == 1) row.result.traits["promise"] = "approximate";
      }
    }
  }
  return maker.run;
}

inline std::string page_of(const mgcompare::Run& run) {
  const Comparison comparison = compare_rows(run);
  return html_report(comparison, draw_scaling(comparison));
}

// Of wide_run(). Made once: gnuplot draws its curve.
inline const std::string& wide_page() {
  static const std::string page = page_of(wide_run());
  return page;
}

}  // namespace mgcompare
