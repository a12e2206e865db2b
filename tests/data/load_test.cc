#include "data/load.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "data/files.h"
#include "data/digits.h"
#include "data/idx.h"
#include "data/mnist.h"
#include "data/refusal.h"
#include "https/transfer.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Sets an environment variable and restores its old value.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* const before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    if (value == nullptr)
      unsetenv(name);
    else
      setenv(name, value, 1);
  }
  ~Variable() {
    if (had_)
      setenv(name_, before_.c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

std::string refusal_of(const DataConfig& config, const DataPlaces& places) {
  return refusal([&] { load_dataset(config, places, nullptr); });
}

// No data anywhere, and no network.
DataPlaces nowhere(const Folder& folder) {
  DataPlaces places;
  places.cache_folder = folder.path("cache");
  return places;
}

TEST(Load, RefusesAGivenFolderThatIsBad) {
  const Folder folder;
  DataConfig config;
  config.fallback = DataFallback::digits;
  for (std::string DataPlaces::*place : {&DataPlaces::given_folder, &DataPlaces::environment_folder}) {
    const char* const how = place == &DataPlaces::given_folder ? "--data" : "MGCOMPARE_DATA";
    DataPlaces places = nowhere(folder);
    places.*place = folder.path("absent");
    EXPECT_THAT(refusal_of(config, places), AllOf(HasSubstr("not a folder"), HasSubstr(how)));
    places.*place = folder.path();
    EXPECT_THAT(refusal_of(config, places),
                AllOf(HasSubstr("train-images-idx3-ubyte (or"), HasSubstr("is missing"), HasSubstr(how)));
  }
}

TEST(Load, RefusesASetThatIsNotMnist) {
  const Folder folder;
  folder.write("train-images-idx3-ubyte.gz", gzip(images(20)));
  folder.write("train-labels-idx1-ubyte", labels(20));
  folder.write("t10k-images.idx3-ubyte", images(20));
  folder.write("t10k-labels-idx1-ubyte.gz", gzip(labels(20)));
  EXPECT_THAT([&] { read_mnist(folder.path()); },
              testing::ThrowsMessage<DataError>(
                  AllOf(HasSubstr("train-images-idx3-ubyte.gz: checksum"), HasSubstr("not that of MNIST"))));
}

TEST(Load, DrawsDigitsOnlyWhenAllowed) {
  const Folder folder;
  DataConfig config;
  EXPECT_THAT(refusal_of(config, nowhere(folder)),
              AllOf(HasSubstr("--data or MGCOMPARE_DATA"), HasSubstr("`--set data.fallback=digits`")));
  config.fallback = DataFallback::digits;
  config.train_samples = 500;
  config.test_samples = 70;
  std::vector<std::string> log;
  const Dataset set = load_dataset(config, nowhere(folder), [&](const std::string& line) { log.push_back(line); });
  EXPECT_EQ(set.name, "digits");
  EXPECT_EQ(set.origin, "drawn with seed 1, because mnist is not available");
  EXPECT_EQ(set.train.samples, 500u);
  EXPECT_EQ(set.train.values.size(), 500u * 784);
  EXPECT_EQ(set.test.targets.size(), 70u);
  EXPECT_THAT(log, testing::Contains(HasSubstr("built-in digits")));
}

TEST(Load, DrawsOnlyTheSamplesThatTheLimitsLeave) {
  DataConfig config;
  config.shape = {3, 5, 7};
  config.classes = 4;
  config.samples = 900;
  for (const auto& [source, size] : {std::pair{DataSource::digits, 60'000u}, {DataSource::synthetic, 900u}}) {
    config.set = source;
    config.train_samples = config.test_samples = 0;
    const Dataset whole = load_dataset(config, {}, nullptr);
    config.train_samples = 301;
    config.test_samples = 33;
    const Dataset part = load_dataset(config, {}, nullptr);
    EXPECT_EQ(part.training_set, size);
    EXPECT_EQ(part.fingerprint, fingerprint_of(part)) << "more were drawn";
    EXPECT_EQ(fingerprint_of({.spec = whole.spec, .train = part_of(whole.train, 0, 301), .test = part_of(whole.test, 0, 33)}), part.fingerprint);
  }
  config.train_samples = 901;
  EXPECT_THAT(refusal_of(config, {}), HasSubstr("data.train_samples is 901, but synthetic has only 900 samples available"));
}

TEST(Load, HoldsOutTheLastTrainingSamples) {
  DataConfig config;
  config.set = DataSource::digits;
  const Dataset whole = load_dataset(config, {}, nullptr);
  config.validation_samples = 1003;
  config.train_samples = 700;
  const Dataset part = load_dataset(config, {}, nullptr);
  ASSERT_EQ(part.test.samples, 1003u);
  EXPECT_EQ(part.train.samples, 700u);
  const auto last = static_cast<std::ptrdiff_t>(60'000 - 1003);
  EXPECT_TRUE(std::equal(part.test.values.begin(), part.test.values.end(), whole.train.values.begin() + 784 * last));
  EXPECT_TRUE(std::equal(part.test.targets.begin(), part.test.targets.end(), whole.train.targets.begin() + last));
  EXPECT_EQ(part.fingerprint, whole.fingerprint);
  config.train_samples = 59'000;
  EXPECT_THAT(refusal_of(config, {}), HasSubstr("data.train_samples is 59000, but digits has only 58997 samples available"));
}

TEST(Load, LooksWhereTheEnvironmentSays) {
  const Variable data("MGCOMPARE_DATA", "/somewhere");
  const Variable home("HOME", "/home/me");
  {
    const Variable cache("XDG_CACHE_HOME", "/caches");
    const DataPlaces places = DataPlaces::standard("/given");
    EXPECT_EQ(places.given_folder, "/given");
    EXPECT_EQ(places.environment_folder, "/somewhere");
    EXPECT_EQ(places.cache_folder, "/caches/mgcompare/datasets");
  }
  const Variable cache("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(DataPlaces::standard("").cache_folder, "/home/me/.cache/mgcompare/datasets");
  const Variable no_home("HOME", nullptr);
  EXPECT_EQ(DataPlaces::standard("").cache_folder, "");
}

TEST(Download, FailsFastAndLeavesNothing) {
  const Folder folder;
  Download download;
  download.transfer = transfer_by_https;
  // A port without a listener, a plain http address, and a host name that cannot exist.
  download.mirrors = {"https://127.0.0.1:1/", "http://127.0.0.1:1/", "https://mgcompare.invalid/"};
  EXPECT_THAT([&] { download_mnist(folder.path("cache"), download); },
              testing::ThrowsMessage<DataError>(AllOf(testing::Not(HasSubstr("out of time")),
                                                      HasSubstr("train-images-idx3-ubyte.gz cannot be downloaded"),
                                                      HasSubstr("https://127.0.0.1:1/"), HasSubstr("Protocol \"http\""),
                                                      HasSubstr("mgcompare.invalid"))));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("cache")));
}

// A local port that accepts connections and never answers.
class SilentServer {
 public:
  SilentServer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { close(socket_); }
  std::string address() const { return "https://127.0.0.1:" + std::to_string(port_) + "/"; }

 private:
  int socket_, port_ = 0;
};

// The first mirror uses up the time limit; the others are not tried.
TEST(Download, GivesUpWhenItsTimeIsSpent) {
  const Folder folder;
  const SilentServer silent;
  Download download;
  download.transfer = transfer_by_https;
  download.mirrors = {silent.address(), "https://192.0.2.2/", "https://192.0.2.3/"};
  download.timeout = std::chrono::milliseconds(600);
  EXPECT_THAT([&] { download_mnist(folder.path("cache"), download); },
              testing::ThrowsMessage<DataError>(HasSubstr("https://192.0.2.2/, https://192.0.2.3/ not tried: out of time")));
}

// Mirrors that drop packets or cannot be reached.
TEST(Download, GivesUpOnMirrorsThatAreNotThere) {
  const Folder folder;
  Download download;
  download.transfer = transfer_by_https;
  download.mirrors = {"https://192.0.2.1/", "https://192.0.2.2/", "https://192.0.2.3/"};
  download.timeout = std::chrono::milliseconds(600);
  EXPECT_THROW(download_mnist(folder.path("cache"), download), DataError);
}

// A local mirror: `openssl s_server` on a directory. The port is 0 if it could not be started.
class Mirror {
 public:
  explicit Mirror(const Folder& folder) : certificate_(folder.path("certificate.pem")) {
    const std::string make = "cd '" + folder.path() +
                             "' && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem "
                             "-days 2 -subj /CN=mirror -addext subjectAltName=IP:127.0.0.1 >/dev/null 2>&1";
    int channel[2];
    if (std::system(make.c_str()) != 0 || pipe(channel) != 0) return;
    process_ = fork();
    if (process_ == 0) {
      dup2(channel[1], STDOUT_FILENO);
      dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
      if (chdir(folder.path().c_str()) != 0) _exit(1);
      execlp("openssl", "openssl", "s_server", "-WWW", "-accept", "127.0.0.1:0", "-cert", "certificate.pem", "-key",
             "key.pem", nullptr);
      _exit(1);
    }
    close(channel[1]);
    std::string said;
    for (char c = 0; read(channel[0], &c, 1) == 1;) {
      said += c;
      const std::size_t at = said.find("127.0.0.1:");
      if (c != '\n' || at == std::string::npos) continue;
      port_ = std::atoi(said.c_str() + at + 10);
      break;
    }
    reader_ = channel[0];
  }
  ~Mirror() {
    if (reader_ >= 0) close(reader_);
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  int port() const { return port_; }
  std::string address(const std::string& folder) const {
    return "https://127.0.0.1:" + std::to_string(port_) + "/" + folder + "/";
  }
  const std::string& certificate() const { return certificate_; }

 private:
  std::string certificate_;
  pid_t process_ = -1;
  int reader_ = -1;
  int port_ = 0;
};

TEST(Download, TakesTheNextMirrorWhenOneGivesAWrongFile) {
  const char* const original = std::getenv("MGCOMPARE_DATA");
  if (original == nullptr) GTEST_SKIP() << "MGCOMPARE_DATA does not name a folder with MNIST";
  const Folder folder;
  std::filesystem::create_directories(folder.path("good"));
  std::filesystem::create_directories(folder.path("bad"));
  for (const char* name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    const std::string file = std::string(name) + ".gz";
    if (!std::filesystem::exists(std::filesystem::path(original) / file))
      GTEST_SKIP() << "the files in MGCOMPARE_DATA are not packed";
    std::filesystem::copy(std::filesystem::path(original) / file, folder.path("good/" + file));
    folder.write("bad/" + file, gzip(images(5)));
  }
  const Mirror mirror(folder);
  if (mirror.port() == 0) GTEST_SKIP() << "openssl cannot serve files here";

  std::size_t most = 0;
  DataPlaces places;
  places.cache_folder = folder.path("cache");
  places.download.transfer = transfer_by_https;
  places.download.mirrors = {mirror.address("absent"), mirror.address("bad"), mirror.address("good")};
  places.download.progress = [&](const DownloadProgress& progress) { most = std::max(most, progress.bytes); };
  // A certificate that no authority signed is rejected.
  EXPECT_THAT(refusal_of({}, places), HasSubstr("certificate"));
  const std::string cached = places.cache_folder + "/mnist";
  EXPECT_TRUE(std::filesystem::is_empty(cached));

  places.download.authorities = mirror.certificate();
  const Dataset set = load_dataset({}, places, nullptr);
  EXPECT_EQ(set.origin, "downloaded to " + cached);
  EXPECT_EQ(set.fingerprint, fingerprint_of(read_mnist(original)));
  EXPECT_GT(most, 9u << 20);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(cached), {}), 4);
  // From now on the cache suffices.
  places.download.mirrors.clear();
  EXPECT_EQ(load_dataset({}, places, nullptr).origin, cached);
}

TEST(Mnist, IsReadAndChecked) {
  const char* const folder = std::getenv("MGCOMPARE_DATA");
  if (folder == nullptr) GTEST_SKIP() << "MGCOMPARE_DATA does not name a folder with MNIST";
  const Dataset set = load_dataset({}, DataPlaces::standard(""), nullptr);
  EXPECT_EQ(set.name, "mnist");
  EXPECT_EQ(set.origin, folder);
  EXPECT_EQ(set.train.samples, 60'000u);
  EXPECT_EQ(set.test.samples, 10'000u);
  EXPECT_EQ(set.spec.shape, (Shape{1, 28, 28}));
  EXPECT_EQ(std::vector<std::uint32_t>(set.train.targets.begin(), set.train.targets.begin() + 5),
            (std::vector<std::uint32_t>{5, 0, 4, 1, 9}));
}

// A changed byte in one of the real files is detected, and so is a file of the wrong split.
TEST(Mnist, ChangedFilesAreRefused) {
  const char* const original = std::getenv("MGCOMPARE_DATA");
  if (original == nullptr) GTEST_SKIP() << "MGCOMPARE_DATA does not name a folder with MNIST";
  const Folder folder;
  const Dataset set = read_mnist(original);
  Bytes bytes = idx(0x801, {10'000}, 0);
  bytes.insert(bytes.end(), set.test.targets.begin(), set.test.targets.end());
  for (const auto& entry : std::filesystem::directory_iterator(original)) {
    if (entry.path().filename().string().find("t10k-labels") == std::string::npos) {
      std::filesystem::create_symlink(std::filesystem::absolute(entry.path()), folder.path(entry.path().filename()));
    }
  }
  const std::string labels_path = folder.write("t10k-labels-idx1-ubyte", bytes);
  EXPECT_NO_THROW(read_mnist(folder.path()));
  bytes[8 + 77] ^= 1;
  folder.write("t10k-labels-idx1-ubyte", bytes);
  EXPECT_THAT([&] { read_mnist(folder.path()); },
              testing::ThrowsMessage<DataError>(HasSubstr(labels_path + ": checksum")));
}

}  // namespace
}  // namespace mgcompare
