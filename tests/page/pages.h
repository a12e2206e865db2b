#pragma once

// Pages of runs as they could have been, for tests that show them.

#include <gtest/gtest.h>

#include <string>

#include "page/browser.h"
#include "reports/assets.h"
#include "reports/charts/drawing.h"
#include "reports/html.h"
#include "results/runs.h"

namespace mgcompare {

// Skips where there is no browser.
class Page : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = missing_browser(); !missing.empty()) GTEST_SKIP() << missing;
  }
};

// One device that exchanges nothing, and another strategy on 1, 2 and 4 devices, with two batches, three times each.
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

inline std::string page_of(const mgcompare::Run& run) {
  const Comparison comparison = compare_rows(run);
  return html_report(comparison, draw_scaling(comparison));
}

}  // namespace mgcompare
