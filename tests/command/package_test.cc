// The Debian packages: they are those files that an installation has, lintian accepts them, and an ordinary user works with them in a
// system that has nothing else.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include <unistd.h>

#include "docs/blocks.h"
#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class LongPackages : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    if (!missing_piece().empty()) return;
    shared_ = std::make_unique<Workplace>();
    made_ = shell(MGCOMPARE_SOURCE_DIR "/scripts/package made --build " MGCOMPARE_BINARY_DIR);
  }
  static void TearDownTestSuite() { shared_.reset(); }

  void SetUp() override {
    CommandTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(made_.code, 0) << made_.err;
  }
  static const fs::path& folder() { return shared_->folder(); }
  static Ended shell(const std::string& script) {
    return Program(folder(), "/bin/bash", {"-c", "set -o pipefail; " + script}, {}).wait(std::chrono::minutes(15));
  }
  static bool has(const std::string& program) { return shell("command -v " + program).code == 0; }
  static std::set<std::string> lines_of(const std::string& text) {
    std::set<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.insert(line);
    return lines;
  }

 private:
  static inline std::unique_ptr<Workplace> shared_;
  static inline Ended made_;
};

TEST_F(LongPackages, HaveTheFilesOfAnInstallation) {
  const Ended installed = shell("cmake --install " MGCOMPARE_BINARY_DIR " --prefix installed >/dev/null && cd installed && find . ! -type d -printf '%P\\n'");
  const Ended packed = shell("for package in made/*.deb; do dpkg-deb --fsys-tarfile $package | tar -t | grep -v '/$' | sed 's|^./usr/||'; done");
  ASSERT_EQ(installed.code, 0) << installed.err;
  ASSERT_EQ(packed.code, 0) << packed.err;
  EXPECT_GT(lines_of(installed.out).size(), 100u);
  EXPECT_EQ(lines_of(packed.out), lines_of(installed.out));
}

TEST_F(LongPackages, AreWithoutErrorsByLintian) {
  if (!has("lintian")) GTEST_SKIP() << "lintian is not installed";
  const Ended ended = shell("lintian --allow-root --fail-on error made/*.deb");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

TEST_F(LongPackages, ContainNoLibraryOfNvidiaAndNoPathOfTheBuild) {
  EXPECT_THAT(shell("for package in made/*.deb; do dpkg-deb -c $package; done").out, Not(HasSubstr("libcu")));
  const Ended ended = shell(
      "for package in made/*.deb; do dpkg-deb -x $package unpacked; done; find unpacked -name '*.so' -o -name mgcompare -type f -path '*/bin/*' | "
      "xargs -n 1 readelf -d | grep -E 'R(UN)?PATH' || echo none");
  EXPECT_EQ(ended.out, "none\n");
}

// mmdebstrap makes the system from the package sources of this machine. The packages are installed by dpkg, which refuses them if a
// dependency is missing; then nothing is downloaded any more.
TEST_F(LongPackages, ServeAnOrdinaryUserInACleanSystem) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a system of its own";
  if (!has("mmdebstrap")) GTEST_SKIP() << "mmdebstrap is not installed";
  for (const Block& block : blocks_of(MGCOMPARE_SOURCE_DIR "/docs/writing-a-strategy.md"))
    if (block.file() == "my_local_sgd/my_local_sgd.cc") std::ofstream(folder() / "my_local_sgd.cc") << block.text;
  ASSERT_TRUE(fs::exists(folder() / "my_local_sgd.cc"));
  std::ofstream(folder() / "user.sh") << R"sh(set -ex
cd
test "$(id -u)" != 0
mgcompare --version
test -e /usr/share/man/man1/mgcompare.1.gz -a -e /usr/share/bash-completion/completions/mgcompare
mgcompare devices
mgcompare lenet --dry-run
mgcompare lenet -o run --only devices=cpu:1 --set 'strategies=[serial]' --set epochs=1 --set data.train_samples=256 --set data.test_samples=128 --set measure.level=quick --set seeds=[1]
test -s run/report.html
mgcompare plugins new my_local_sgd --cuda
cp /packages/my_local_sgd.cc my_local_sgd/
cmake -S my_local_sgd -B my_local_sgd/build
cmake --build my_local_sgd/build
mgcompare plugins check my_local_sgd/build/strategy_my_local_sgd.so
MGCOMPARE_PLUGIN_PATH=my_local_sgd/build mgcompare verify mlp --quick --only strategy=my_local_sgd --set 'strategies=[my_local_sgd]' --set data.set=digits --seed 1 -q
echo USER IS DONE
)sh";
  std::ofstream(folder() / "hook.sh") << R"sh(set -ex
mkdir "$1/packages"
cp made/*.deb user.sh my_local_sgd.cc "$1/packages"
mkdir "$1/packages/data"
if [ -d "$MGCOMPARE_DATA" ]; then cp -RL "$MGCOMPARE_DATA/." "$1/packages/data"; fi
# NVIDIA's libraries are not there, and mgcompare-cuda does not depend on them.
chroot "$1" sh -c 'dpkg -i /packages/*.deb'
chroot "$1" useradd -m user
data=; if [ -n "$(ls "$1/packages/data")" ]; then data=MGCOMPARE_DATA=/packages/data; fi
chroot --userspec=user "$1" env -i HOME=/home/user PATH=/usr/bin:/bin https_proxy=http://127.0.0.1:1 $data sh /packages/user.sh
)sh";
  const Ended ended = shell(
      "needed=$(for package in made/*.deb; do dpkg-deb -f $package Depends | tr , '\\n'; done | sed 's/|.*//; s/(.*//; s/ //g' | grep -v '^mgcompare' | sort "
      "-u | paste -sd ,); "
      "shopt -s nullglob; sources=(/etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources); for file in \"${sources[@]}\"; do "
      "[ -s $file ] && used+=($file); done; "
      ". /etc/os-release; [ \"$ID\" = debian ] && [ ${#used[@]} -gt 0 ] || exit 77; "
      "mmdebstrap --mode=root --variant=apt --format=null --include=$needed --customize-hook='sh hook.sh \"$1\"' $VERSION_CODENAME /dev/null \"${used[@]}\"");
  if (ended.code == 77) GTEST_SKIP() << "this is not a Debian system with package sources";
  if (ended.err.find("running --customize-hook") == std::string::npos) GTEST_SKIP() << "mmdebstrap cannot make a system from the package sources of this machine";
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("\nUSER IS DONE\n")) << "mmdebstrap passes what its hooks print to stderr";
}

}  // namespace
}  // namespace mgcompare
