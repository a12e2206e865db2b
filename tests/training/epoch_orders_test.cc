#include "train/epoch_orders.h"

#include <gtest/gtest.h>

#include "data/order.h"
#include "measure/processor_time.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSamples = 1000;
constexpr std::uint64_t kSeed = 5;

TEST(EpochOrders, AreThoseOfTheEpochsWhateverWasDrawn) {
  EpochOrders orders(kSamples, kSeed);
  EXPECT_EQ(orders.take(3), epoch_order(kSamples, kSeed, 3)) << "nothing was drawn";
  orders.draw_ahead(4);
  orders.wait();
  EXPECT_EQ(orders.take(4), epoch_order(kSamples, kSeed, 4));
  orders.draw_ahead(5);
  EXPECT_EQ(orders.take(7), epoch_order(kSamples, kSeed, 7)) << "another epoch was drawn";
  EXPECT_EQ(orders.take(5), epoch_order(kSamples, kSeed, 5));
  orders.draw_ahead(8);
  orders.draw_ahead(9);
  EXPECT_EQ(orders.take(9), epoch_order(kSamples, kSeed, 9));
  EXPECT_EQ(orders.take(9), epoch_order(kSamples, kSeed, 9)) << "the same again";
}

TEST(EpochOrders, EndWhileOneIsDrawn) {
  for (int i = 0; i < 20; ++i) {
    EpochOrders orders(100'000, kSeed);
    orders.draw_ahead(1);
  }
}

TEST(EpochOrders, AreDrawnByAServiceThread) {
  const double before = service_seconds();
  {
    EpochOrders orders(2'000'000, kSeed);
    orders.draw_ahead(1);
    orders.wait();
  }
  EXPECT_GT(service_seconds() - before, 0.001);
}

}  // namespace
}  // namespace mgcompare
