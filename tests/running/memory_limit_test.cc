#include "process/memory_limit.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>

namespace mgcompare {
namespace {

// Not by malloc, which a sanitizer replaces.
bool can_map(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes);
  return true;
}

constexpr std::size_t kMebibyte = 1 << 20;

TEST(MemoryLimit, HoldsWhileItExists) {
  {
    const MemoryLimit limit(0.25);
    EXPECT_EQ(limit.gibibytes(), 0.25);
    EXPECT_TRUE(can_map(200 * kMebibyte));
    EXPECT_FALSE(can_map(300 * kMebibyte));
  }
  EXPECT_TRUE(can_map(300 * kMebibyte));
}

TEST(MemoryLimit, CountsWhatWasTakenSinceAnEarlierMoment) {
  const double before = held_memory();
  const std::size_t bytes = 100 * kMebibyte;
  void* const kept = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(kept, MAP_FAILED);
  {
    const MemoryLimit limit(0.25, before);
    EXPECT_TRUE(can_map(100 * kMebibyte));
    EXPECT_FALSE(can_map(200 * kMebibyte));
  }
  {
    const MemoryLimit limit(0.25);
    EXPECT_TRUE(can_map(200 * kMebibyte));
  }
  munmap(kept, bytes);
}

TEST(MemoryLimit, DefaultsToMostOfWhatIsFree) {
  const MemoryLimit limit(0);
  EXPECT_GT(limit.gibibytes(), 0.01);
  EXPECT_LT(limit.gibibytes(), 1e5);
  EXPECT_TRUE(can_map(kMebibyte));
}

TEST(MemoryLimit, KillsAreReadFromTheKernelsCounters) {
  const std::string file = testing::TempDir() + "counters";
  std::ofstream(file) << "pgfault 12\noom_kill 3\nswap_ra 0\n";
  EXPECT_EQ(out_of_memory_kills(file), 3u);
  std::ofstream(file) << "pgfault 12\n";
  EXPECT_EQ(out_of_memory_kills(file), std::nullopt);
  EXPECT_EQ(out_of_memory_kills(file + "-missing"), std::nullopt);
}

}  // namespace
}  // namespace mgcompare
