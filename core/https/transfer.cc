#include "https/transfer.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "data/dataset.h"

namespace mgcompare {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kConnect{6'000};
constexpr milliseconds kStall{8'000};
constexpr long kWholeFileSeconds = 600;

struct Watched {
  const TransferRequest& request;
  std::size_t bytes = 0;
  bool too_large = false;
  curl_off_t seen = 0;
  Clock::time_point moved = Clock::now();  // when the last byte arrived
  milliseconds stall{0};
  bool stalled = false;
  std::exception_ptr thrown = nullptr;  // by a call of the request
};

// Exceptions must not pass through libcurl's frames. Returns whether there was none.
template <class F>
bool guarded(Watched& watched, F f) {
  try {
    f();
  } catch (...) {
    watched.thrown = std::current_exception();
  }
  return watched.thrown == nullptr;
}

std::size_t write_bytes(char* data, std::size_t size, std::size_t count, void* context) {
  Watched& watched = *static_cast<Watched*>(context);
  const std::size_t bytes = size * count;
  watched.too_large = watched.bytes + bytes > watched.request.max_bytes;
  if (watched.too_large || !guarded(watched, [&] { watched.request.write({data, bytes}); })) return 0;
  watched.bytes += bytes;
  return bytes;
}

int watch(void* context, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  Watched& watched = *static_cast<Watched*>(context);
  if (now != watched.seen) {
    watched.seen = now;
    watched.moved = Clock::now();
  }
  watched.stalled = Clock::now() - watched.moved > watched.stall;
  const bool goes_on = guarded(watched, [&] {
    if (watched.request.progress) watched.request.progress(static_cast<std::size_t>(now), static_cast<std::size_t>(total));
  });
  return watched.stalled || !goes_on ? 1 : 0;
}

void configure(CURL* curl, Watched& watched) {
  const TransferRequest& request = watched.request;
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(kConnect, request.timeout).count()));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, kWholeFileSeconds);
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(request.max_bytes));
  // Without this, a name lookup that hangs delays the clean-up far beyond the timeout.
  curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "mgcompare");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &watched);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &watched);
  if (!request.authorities.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, request.authorities.c_str());
}

}  // namespace

std::string transfer_by_https(const TransferRequest& request) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw DataError("libcurl cannot be initialised");
  Watched watched{request};
  watched.stall = std::min(kStall, request.timeout);
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  char detail[CURL_ERROR_SIZE] = "";
  configure(curl.get(), watched);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail);
  const CURLcode code = curl_easy_perform(curl.get());
  if (watched.thrown != nullptr) std::rethrow_exception(watched.thrown);
  if (watched.too_large || code == CURLE_FILESIZE_EXCEEDED) return fmt::format("sends more than {} bytes", request.max_bytes);
  if (watched.stalled) return "stopped sending";
  if (code != CURLE_OK) return detail[0] != 0 ? detail : curl_easy_strerror(code);
  return "";
}

}  // namespace mgcompare
