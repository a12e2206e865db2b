// Drawn networks against the reference loops.

#include "drawn_network.h"

#include <gtest/gtest.h>

#include "rig.h"

namespace mgcompare::testing {
namespace {

ReferencePass pass_of(const Case& test) { return {true, test.numerics.dropout, test.numerics.average_pooling, 11, 2}; }

// Some elements of the gradient: the loops take long.
void expect_as_reference(std::uint64_t first, std::uint64_t end, std::size_t elements) {
  for (std::uint64_t seed = first; seed < end; ++seed) {
    const DrawnNetwork drawn(seed);
    const Case test = drawn.network(), smooth = drawn.smooth();
    SCOPED_TRACE(drawn.text());
    for (const std::size_t count : {3, 17}) {
      Rig rig({"test", test.layers}, test.samples(), 64, test.numerics);
      const Numbers expected = reference_forward(rig.spec, Numbers(rig.weights.begin(), rig.weights.end()), Numbers(rig.spec.buffers, 0),
                                                 rig.inputs(4, count), rig.ids(4, count), pass_of(test));
      EXPECT_LT(relative_error(rig.logits(4, count, {true, 11, 2}), expected), 1e-4) << count << " samples";
      Rig even({"test", smooth.layers}, smooth.samples(), 64, smooth.numerics);
      const std::vector<float> gradient = even.gradient(1, count, {true, 11, 2});
      const std::size_t stride = std::max<std::size_t>(1, gradient.size() / elements);
      EXPECT_LT(even.gradient_error(gradient, 1, count, {0, gradient.size()}, stride, pass_of(smooth)), 1e-3) << count << " samples";
    }
  }
}

TEST(DrawnNetworks, AgreeWithTheReferenceLoops) { expect_as_reference(1, 21, 7); }

TEST(LongDrawnNetworks, AgreeWithTheReferenceLoops) { expect_as_reference(21, 441, 20); }

}  // namespace
}  // namespace mgcompare::testing
