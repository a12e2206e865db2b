// Readings of the driver's management library, from a fake one, and detection of outdated versions. Needs no GPU.

#include "cuda/nvml.h"

#include <gmock/gmock.h>

#include "cuda/versions.h"
#include "mgcompare/error.h"

namespace mgcompare::testing {
namespace {

using cuda::Nvml;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kFake = std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/fakes/fake_nvml.so";

TEST(NvmlTest, ASoundGpuHasNotesOnly) {
  const Nvml nvml(kFake);
  EXPECT_EQ(nvml.driver_version(), "580.95.05");
  const Nvml::Condition condition = nvml.condition("0000:1b:00.0");
  EXPECT_THAT(condition.notes, ElementsAre("clock 1200 of 1980 MHz", "memory clock 2619 of 2619 MHz", "34 C",
                                           "75 of 700 W", "120.0 GiB free"));
  EXPECT_THAT(condition.problems, IsEmpty());
}

TEST(NvmlTest, ASickGpuIsSaidToBe) {
  const Nvml nvml(kFake);
  EXPECT_THAT(nvml.condition("0000:3d:00.0").problems,
              ElementsAre("is slowed down by its temperature (software limit)",
                          "is slowed down by its temperature (hardware limit)",
                          "has had 3 uncorrected memory errors since its driver started",
                          "is busy 85 % of the time with work of other processes"));
  EXPECT_THAT(nvml.condition("0000:ff:00.0").problems, Contains(HasSubstr("unknown to NVML")));
}

TEST(NvmlTest, WhereItIsAbsentThatIsASentence) {
  try {
    const Nvml nvml("libnowhere.so.1");
    FAIL() << "it was opened";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("clocks, temperature and power are not known: libnowhere.so.1"));
  }
  EXPECT_THROW(Nvml("libm.so.6"), Error) << "a library that is another one";
}

TEST(VersionsTest, WhatIsTooOldIsSaidWithBothVersions) {
  const cuda::Versions good{13000, 13000, 91900, 22809};
  EXPECT_EQ(cuda::too_old(good), "");
  cuda::Versions old = good;
  old.driver = 12040;
  EXPECT_EQ(cuda::too_old(old),
            "the NVIDIA driver supports CUDA 12.4, this program needs CUDA 13.0: install a newer driver");
  old = good;
  old.cudnn = 8907;
  EXPECT_EQ(cuda::too_old(old), "cuDNN 8.9.7 is installed, this program needs 9.0.0: install a newer cuDNN");
  old = good;
  old.nccl = 21403;
  EXPECT_EQ(cuda::too_old(old), "NCCL 2.14.3 is installed, this program needs 2.27.0: install a newer NCCL");
  old = good;
  old.driver = 0;
  EXPECT_EQ(cuda::too_old(old), "no NVIDIA driver is installed");
  old.nccl = 22605;
  EXPECT_EQ(cuda::too_old(old),
            "no NVIDIA driver is installed; NCCL 2.26.5 is installed, this program needs 2.27.0: install a newer NCCL");
  EXPECT_EQ(cuda::library_version(22809), "2.28.9");
  EXPECT_EQ(cuda::library_version(91900), "9.19.0");
}

}  // namespace
}  // namespace mgcompare::testing
