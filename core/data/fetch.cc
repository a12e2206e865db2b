#include "data/fetch.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "data/idx.h"

namespace mgcompare {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kConnect{6'000};
constexpr milliseconds kStall{8'000};
constexpr long kWholeFileSeconds = 600;

struct Transfer {
  const FetchRequest* request = nullptr;
  std::string mirror;
  std::FILE* file = nullptr;
  std::size_t bytes = 0;
  bool too_large = false;
  bool disk_full = false;
  curl_off_t seen = 0;
  Clock::time_point moved = Clock::now();  // when the last byte came
  milliseconds stall{0};
  bool stalled = false;
};

std::size_t write_bytes(char* data, std::size_t size, std::size_t count, void* context) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  const std::size_t bytes = size * count;
  transfer.too_large = transfer.bytes + bytes > transfer.request->most_bytes;
  if (transfer.too_large) return 0;
  transfer.disk_full = std::fwrite(data, 1, bytes, transfer.file) != bytes;
  if (transfer.disk_full) return 0;
  transfer.bytes += bytes;
  return bytes;
}

int watch(void* context, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  if (now != transfer.seen) {
    transfer.seen = now;
    transfer.moved = Clock::now();
  }
  transfer.stalled = Clock::now() - transfer.moved > transfer.stall;
  if (transfer.request->progress) {
    transfer.request->progress(transfer.mirror, static_cast<std::size_t>(now), static_cast<std::size_t>(total));
  }
  return transfer.stalled ? 1 : 0;
}

void configure(CURL* curl, const std::string& url, Transfer& transfer, milliseconds timeout) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(kConnect, timeout).count()));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, kWholeFileSeconds);
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(transfer.request->most_bytes));
  // A resolver without an answer would otherwise hold up the clean-up far past the time-out.
  curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "mgcompare");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
}

// What went wrong, or nothing.
std::string transfer_file(const std::string& mirror, const FetchRequest& request, milliseconds timeout,
                          const std::string& authorities, std::size_t& bytes) {
  Transfer transfer;
  transfer.request = &request;
  transfer.mirror = mirror;
  transfer.stall = std::min(kStall, timeout);
  const int descriptor = open(request.part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) throw DataError(fmt::format("{}: cannot be written: {}", request.part, std::strerror(errno)));
  transfer.file = fdopen(descriptor, "wb");

  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  char detail[CURL_ERROR_SIZE] = "";
  configure(curl.get(), mirror + request.name, transfer, timeout);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail);
  if (!authorities.empty()) curl_easy_setopt(curl.get(), CURLOPT_CAINFO, authorities.c_str());
  const CURLcode code = curl_easy_perform(curl.get());
  transfer.disk_full |= std::fclose(transfer.file) != 0;
  bytes = transfer.bytes;

  if (transfer.disk_full) throw DataError(fmt::format("{}: cannot be written: {}", request.part, std::strerror(errno)));
  if (transfer.too_large || code == CURLE_FILESIZE_EXCEEDED)
    return fmt::format("sends more than {} bytes", request.most_bytes);
  if (transfer.stalled) return "stopped sending";
  if (code != CURLE_OK) return detail[0] != 0 ? detail : curl_easy_strerror(code);
  try {
    request.check(request.part);
  } catch (const Error& wrong) {
    return fmt::format("gave a wrong file: {}", wrong.what());
  }
  return "";
}

}  // namespace

Fetcher::Fetcher(std::vector<std::string> mirrors, milliseconds timeout, std::string authorities)
    : mirrors_(std::move(mirrors)), timeout_(timeout), authorities_(std::move(authorities)) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw DataError("libcurl cannot start");
}

std::size_t Fetcher::fetch(const FetchRequest& request) {
  while (!mirrors_.empty() && timeout_ > milliseconds(0)) {
    const Clock::time_point start = Clock::now();
    std::size_t bytes = 0;
    std::string problem;
    try {
      problem = transfer_file(mirrors_.front(), request, timeout_, authorities_, bytes);
    } catch (...) {
      unlink(request.part.c_str());
      throw;
    }
    if (problem.empty()) return bytes;
    unlink(request.part.c_str());
    failures_.push_back(fmt::format("{} {}", mirrors_.front(), problem));
    mirrors_.erase(mirrors_.begin());
    timeout_ -= std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  }
  if (!mirrors_.empty()) failures_.push_back(fmt::format("{} not asked: out of time", fmt::join(mirrors_, ", ")));
  throw DataError(fmt::format("{} cannot be downloaded ({})", request.name,
                              failures_.empty() ? "no mirror" : fmt::format("{}", fmt::join(failures_, "; "))));
}

}  // namespace mgcompare
