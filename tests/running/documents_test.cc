#include "cli/documents.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

TEST(Documents, AreNamedWhereTheyAreInstalled) {
  const fs::path prefix = fs::path(testing::TempDir()) / ("documents." + std::to_string(getpid()));
  const fs::path folder = prefix / "share" / "doc" / "mgcompare" / "docs";
  fs::create_directories(folder);
  std::ofstream(folder / "your-own-model.md") << "text";
  const std::string installed = (folder / "your-own-model.md").string();
  const auto text = [&](const char* of) { return with_documents(of, prefix.string()); };
  EXPECT_EQ(text("write them as docs/your-own-model.md shows"), "write them as " + installed + " shows");
  EXPECT_EQ(text("(docs/your-own-model.md), docs/your-own-model.md"), "(" + installed + "), " + installed);
  for (const char* same : {"docs/hosts.md is not installed", "mine/docs/your-own-model.md", "mydocs/your-own-model.md", "docs/", "docs/your-own-model", ""})
    EXPECT_EQ(text(same), same);
  fs::remove_all(prefix);
}

}  // namespace
}  // namespace mgcompare
