#include "discovery/plugin_checksum.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/data/files.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr char kPair[] = MGCOMPARE_BINARY_DIR "/lib/mgcompare/bad_plugins/pair/";

void append_to(const std::string& file) { std::ofstream(file, std::ios::binary | std::ios::app) << "rebuilt"; }

TEST(PluginChecksum, CoversTheLibrariesBesideAPlugin) {
  const Folder folder;
  for (const char* name : {"libpair_needing.so", "libpair_needed.so"}) fs::copy_file(fs::path(kPair) / name, folder.path(name));
  const std::string plugin = folder.path("libpair_needing.so"), first = checksum_of_plugin(plugin);
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(checksum_of_plugin(plugin), first);
  append_to(folder.path("libpair_needed.so"));
  const std::string second = checksum_of_plugin(plugin);
  EXPECT_NE(second, first);
  append_to(plugin);
  EXPECT_NE(checksum_of_plugin(plugin), second);
}

TEST(PluginChecksum, IsThatOfTheFileWithoutSuchLibraries) {
  const Folder folder;
  const std::string text = folder.write("a.so", {'a', 'b', 'c'});
  EXPECT_EQ(checksum_of_plugin(text), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(checksum_of_plugin(folder.path("absent.so")), "");
}

}  // namespace
}  // namespace mgcompare
