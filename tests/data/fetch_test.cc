// Downloads from mirrors that do everything wrong.

#include "data/fetch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <vector>

#include "data/https_server.h"
#include "data/idx.h"
#include "https/transfer.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

using Client = HttpsServer::Client;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr char kStalled[] = "stopped sending";
constexpr char kGood[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";

struct BadMirror {
  const char* name;
  void (*answer)(Client&);
  const char* says;
};
void PrintTo(const BadMirror& mirror, std::ostream* out) { *out << mirror.name; }

void send_without_end(Client& client) {
  client.send("HTTP/1.1 200 OK\r\n\r\n");
  while (client.send(std::string(1 << 16, 'x'))) {
  }
}

const BadMirror kBadMirrors[] = {
    {"NotFound", [](Client& c) { c.send("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"); }, "404"},
    {"Forbidden", [](Client& c) { c.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nnone"); }, "403"},
    {"ServerError", [](Client& c) { c.send("HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\nnone"); }, "500"},
    {"RedirectLoop", [](Client& c) { c.send("HTTP/1.1 302 Found\r\nLocation: file\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"); },
     "Maximum (5) redirects"},
    {"DowngradeToHttp",
     [](Client& c) { c.send("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/file\r\nContent-Length: 0\r\n\r\n"); },
     "Protocol \"http\""},
    {"RedirectToAFile",
     [](Client& c) { c.send("HTTP/1.1 301 Moved\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"); }, "Protocol \"file\""},
    {"Silent", [](Client& c) { c.wait_until_it_leaves(); }, kStalled},
    {"StallsHalfWay",
     [](Client& c) {
       c.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngo");
       c.wait_until_it_leaves();
     },
     kStalled},
    {"CutHalfWay", [](Client& c) { c.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngo"); }, "2 bytes remaining"},
    {"WrongFile", [](Client& c) { c.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"); }, "sent a wrong file: not good"},
    {"EmptyFile", [](Client& c) { c.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); }, "sent a wrong file: not good"},
    {"WithoutEnd", send_without_end, "sends more than 1048576 bytes"},
    {"PromisesFourGigabytes",
     [](Client& c) { c.send("HTTP/1.1 200 OK\r\nContent-Length: 4294967296\r\n\r\ngood"); }, "sends more than 1048576 bytes"},
    {"NoAnswer", [](Client&) {}, "Empty reply"},
    {"NoHttp", [](Client& c) { c.send("good"); }, "HTTP/0.9"},
};

std::string fetched(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class BadMirrors : public testing::TestWithParam<BadMirror> {
 protected:
  void SetUp() override {
    if (!server_.ready()) GTEST_SKIP() << "openssl cannot make a certificate here";
    std::filesystem::create_directory(folder_.path("cache"));
  }

  std::size_t fetch(const std::vector<std::string>& mirrors, std::chrono::milliseconds timeout) const {
    FetchRequest request;
    request.name = "file";
    request.path = folder_.path("cache/file");
    request.max_bytes = kMaxBytes;
    request.check = [](const std::string& path) {
      if (fetched(path) != "good") throw Error("not good");
    };
    return Fetcher(transfer_by_https, mirrors, timeout, server_.certificate()).fetch(request);
  }

  // Alone: an error that names the mirror, and no file, whole or partial.
  void expect_an_error() const {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT([&] { fetch({server_.address("bad")}, std::chrono::milliseconds(600)); },
                ThrowsMessage<DataError>(AllOf(HasSubstr(server_.address("bad")), HasSubstr(GetParam().says))));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path("cache")));
  }
  // Before a good one: the file is the good one's, and nothing of the bad one's is left.
  void expect_the_next_is_used() const {
    EXPECT_EQ(fetch({server_.address("bad"), server_.address("good")}, std::chrono::seconds(24)), 4u);
    EXPECT_EQ(fetched(folder_.path("cache/file")), "good");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path("cache")), {}), 1);
  }

 private:
  const Folder folder_;
  const HttpsServer server_{folder_, [](Client& client, const std::string& path) {
                              if (path.starts_with("/good/")) client.send(kGood);
                              else GetParam().answer(client);
                            }};
};

// A mirror that stalls takes eight seconds before the next one is tried.
class LongBadMirrors : public BadMirrors {};

TEST_P(BadMirrors, AreLeftForTheNext) {
  expect_an_error();
  if (std::string(GetParam().says) != kStalled) expect_the_next_is_used();
}

TEST_P(LongBadMirrors, AreLeftForTheNextThoughTheyStall) { expect_the_next_is_used(); }

std::string name_of(const testing::TestParamInfo<BadMirror>& info) { return info.param.name; }

std::vector<BadMirror> stalling() {
  std::vector<BadMirror> mirrors;
  std::copy_if(std::begin(kBadMirrors), std::end(kBadMirrors), std::back_inserter(mirrors),
               [](const BadMirror& mirror) { return std::string(mirror.says) == kStalled; });
  return mirrors;
}

INSTANTIATE_TEST_SUITE_P(Ways, BadMirrors, testing::ValuesIn(kBadMirrors), name_of);
INSTANTIATE_TEST_SUITE_P(Ways, LongBadMirrors, testing::ValuesIn(stalling()), name_of);

}  // namespace
}  // namespace mgcompare
