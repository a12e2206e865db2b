// Which threads count as a strategy's own.

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>

#include "measure/processor_time.h"

namespace mgcompare {
namespace {

void use_processor(double seconds) {
  const double begin = thread_seconds();
  while (thread_seconds() - begin < seconds) {
  }
}

// As a rank: returns what the threads beside it used while `work` ran.
double others_during(const std::function<void()>& work) {
  OtherThreads others(1);
  others.prepare();
  others.begin(0);
  work();
  others.end(0);
  return others.seconds();
}

TEST(OtherThreads, LeavesOutServiceThreads) {
  const double busy = others_during([] { std::thread(use_processor, 0.1).join(); });
  EXPECT_GT(busy, 0.08);
  const double serving = others_during([] {
    std::thread([] {
      const ServiceThread registered;
      use_processor(0.1);
    }).join();
  });
  EXPECT_LT(serving, 0.05);
}

TEST(OtherThreads, LeavesOutThreadsThatWereThereBefore) {
  std::promise<void> begin, worked, end;
  std::thread service([&] {
    begin.get_future().wait();
    use_processor(0.1);
    worked.set_value();
    end.get_future().wait();
  });
  // Ranks start later.
  register_service_threads();
  double seconds = 0;
  std::thread([&] {
    seconds = others_during([&] {
      begin.set_value();
      worked.get_future().wait();
      std::thread(use_processor, 0.1).join();
    });
  }).join();
  end.set_value();
  service.join();
  EXPECT_GT(seconds, 0.08);
  EXPECT_LT(seconds, 0.15);
}

TEST(OtherThreads, LeavesOutThreadsThatBeganWithAConnection) {
  std::promise<void> begin, worked, end;
  std::thread service;
  {
    const NewServiceThreads registered;
    service = std::thread([&] {
      begin.get_future().wait();
      use_processor(0.1);
      worked.set_value();
      end.get_future().wait();
    });
  }
  const double seconds = others_during([&] {
    begin.set_value();
    worked.get_future().wait();
    std::thread(use_processor, 0.1).join();
  });
  end.set_value();
  service.join();
  EXPECT_GT(seconds, 0.08);
  EXPECT_LT(seconds, 0.15);
}

}  // namespace
}  // namespace mgcompare
