// Messages about modules that the loader refuses.

#include "modules/module_error.h"

#include <gtest/gtest.h>

namespace mgcompare {
namespace {

bool nothing(const std::string&) { return false; }

TEST(ModuleError, AnotherVersionIsSaidWithBoth) {
  const std::string said = "libcudnn.so.9: cannot open shared object file: No such file or directory";
  const auto has = [](const std::string& name) { return name == "libcudnn.so.8"; };
  EXPECT_EQ(explain_module_error(said, has),
            "libcudnn.so.8 is installed, libcudnn.so.9 is needed: install that version");
  EXPECT_EQ(explain_module_error(said, nothing),
            "libcudnn.so.9 is not installed, or not where the loader looks: install it, or add its folder to "
            "LD_LIBRARY_PATH");
}

TEST(ModuleError, AnOlderLibraryIsKnownByWhatItLacks) {
  const std::string told =
      explain_module_error("/x/platform_cuda.so: undefined symbol: ncclCommWindowRegister, version NCCL_2", nothing);
  EXPECT_NE(told.find("older"), std::string::npos) << told;
  EXPECT_NE(told.find("ncclCommWindowRegister"), std::string::npos) << told;
}

TEST(ModuleError, AnythingElseIsSaidAsItIs) {
  EXPECT_EQ(explain_module_error("file too short", nothing), "file too short");
}

TEST(ModuleError, AShortageOfDescriptorsIsNoMissingLibrary) {
  const std::string said = "libdnnl.so.2: cannot open shared object file: Too many open files";
  EXPECT_EQ(explain_module_error(said, nothing), said);
}

TEST(ModuleError, AsksTheLoader) {
  EXPECT_TRUE(loader_finds("libc.so.6"));
  EXPECT_FALSE(loader_finds("libnowhere.so.3"));
}

}  // namespace
}  // namespace mgcompare
