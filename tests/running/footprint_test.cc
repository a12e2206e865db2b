#include "base/footprint.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <thread>

namespace mgcompare {
namespace {

// This process has no guardian, so the count of processes is that of a stranger.
Footprint without_processes(Footprint footprint) {
  footprint.processes = 0;
  return footprint;
}

TEST(Footprint, CountsThreadsAndDescriptors) {
  const Footprint before = without_processes(footprint());
  const int descriptor = open("/dev/null", O_RDONLY);
  std::promise<void> end;
  std::thread thread([&] { end.get_future().wait(); });
  const Footprint during = without_processes(footprint());
  EXPECT_EQ(difference(before, during), "left 1 thread and 1 open descriptor");
  EXPECT_EQ(difference(during, before), "ended 1 thread and 1 open descriptor of the program");
  end.set_value();
  thread.join();
  close(descriptor);
  EXPECT_EQ(without_processes(settled_footprint(before)), before);
}

TEST(Footprint, WaitsForThreadsThatEnd) {
  const Footprint before = footprint();
  std::thread([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }).detach();
  EXPECT_EQ(settled_footprint(before).threads, before.threads);
}

TEST(Footprint, NamesEachPart) {
  EXPECT_EQ(difference({3, 10, 0}, {5, 10, 1}), "left 2 threads and 1 process");
  EXPECT_EQ(difference({3, 10, 0}, {4, 9, 0}), "left 1 thread and ended 1 open descriptor of the program");
}

TEST(Footprint, NoticesAStreamThatLeadsElsewhere) {
  const Footprint before = footprint();
  const int kept = dup(STDOUT_FILENO), other = open("/dev/null", O_WRONLY);
  dup2(other, STDOUT_FILENO);
  close(other);
  const Footprint during = footprint();
  dup2(kept, STDOUT_FILENO);
  close(kept);
  EXPECT_NE(difference(before, during).find("changed the standard streams"), std::string::npos) << difference(before, during);
  EXPECT_EQ(difference(before, footprint()), "");
}

// No number is claimed, and neither that something ended.
TEST(Footprint, SaysWhatCannotBeCounted) {
  EXPECT_EQ(difference({3, 10, 0}, {kUncountable, kUncountable, 1}),
            "left 1 process and left threads and open descriptors that cannot be counted (probably no descriptor is free)");
  EXPECT_EQ(difference({3, kUncountable, 0}, {3, 10, 0}), "left open descriptors that cannot be counted (probably no descriptor is free)");
}

}  // namespace
}  // namespace mgcompare
