#include "data/fetch.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/atomic_file.h"
#include "data/dataset.h"

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
  AtomicFile* file = nullptr;
  std::size_t bytes = 0;
  bool too_large = false;
  std::string write_error;
  curl_off_t seen = 0;
  Clock::time_point moved = Clock::now();  // when the last byte arrived
  milliseconds stall{0};
  bool stalled = false;
};

// Exceptions must not pass through libcurl's frames.
std::size_t write_bytes(char* data, std::size_t size, std::size_t count, void* context) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  const std::size_t bytes = size * count;
  transfer.too_large = transfer.bytes + bytes > transfer.request->max_bytes;
  if (transfer.too_large) return 0;
  try {
    transfer.file->write({data, bytes});
  } catch (const FileError& error) {
    transfer.write_error = error.what();
    return 0;
  }
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
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(transfer.request->max_bytes));
  // Without this, a name lookup that hangs delays the clean-up far beyond the timeout.
  curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "mgcompare");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
}

// Returns why the mirror failed; empty on success. Throws DataError if the file cannot be written.
std::string transfer_file(const std::string& mirror, const FetchRequest& request, milliseconds timeout,
                          const std::string& authorities, std::size_t& bytes) {
  Transfer transfer;
  transfer.request = &request;
  transfer.mirror = mirror;
  transfer.stall = std::min(kStall, timeout);
  // Several processes may fill the cache folder at the same time.
  AtomicFile file(request.path, fmt::format(".{}.part", getpid()));
  transfer.file = &file;

  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  char detail[CURL_ERROR_SIZE] = "";
  configure(curl.get(), mirror + request.name, transfer, timeout);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail);
  if (!authorities.empty()) curl_easy_setopt(curl.get(), CURLOPT_CAINFO, authorities.c_str());
  const CURLcode code = curl_easy_perform(curl.get());
  bytes = transfer.bytes;

  if (!transfer.write_error.empty()) throw DataError(transfer.write_error);
  if (transfer.too_large || code == CURLE_FILESIZE_EXCEEDED)
    return fmt::format("sends more than {} bytes", request.max_bytes);
  if (transfer.stalled) return "stopped sending";
  if (code != CURLE_OK) return detail[0] != 0 ? detail : curl_easy_strerror(code);
  file.flush();
  try {
    request.check(file.temporary_path());
  } catch (const Error& wrong) {
    return fmt::format("sent a wrong file: {}", wrong.what());
  }
  file.commit();
  return "";
}

}  // namespace

Fetcher::Fetcher(std::vector<std::string> mirrors, milliseconds timeout, std::string authorities)
    : mirrors_(std::move(mirrors)), timeout_(timeout), authorities_(std::move(authorities)) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw DataError("libcurl cannot be initialised");
}

std::size_t Fetcher::fetch(const FetchRequest& request) {
  while (!mirrors_.empty() && timeout_ > milliseconds(0)) {
    const Clock::time_point start = Clock::now();
    std::size_t bytes = 0;
    std::string problem;
    try {
      problem = transfer_file(mirrors_.front(), request, timeout_, authorities_, bytes);
    } catch (const FileError& error) {
      throw DataError(error.what());
    }
    if (problem.empty()) return bytes;
    failures_.push_back(fmt::format("{} {}", mirrors_.front(), problem));
    mirrors_.erase(mirrors_.begin());
    timeout_ -= std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  }
  if (!mirrors_.empty()) failures_.push_back(fmt::format("{} not tried: out of time", fmt::join(mirrors_, ", ")));
  throw DataError(fmt::format("{} cannot be downloaded ({})", request.name,
                              failures_.empty() ? "no mirror" : fmt::format("{}", fmt::join(failures_, "; "))));
}

const std::vector<std::string>& mirrors_of(const Download& download, const std::vector<std::string>& own) {
  const std::vector<std::string>& mirrors = download.from_publisher ? own : download.mirrors;
  if (mirrors.empty()) throw DataError("no mirror to download from");
  return mirrors;
}

}  // namespace mgcompare
