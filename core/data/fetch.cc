#include "data/fetch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "data/dataset.h"

namespace mgcompare {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Returns why the mirror failed; empty on success. Throws DataError if the file cannot be written.
std::string transfer_file(Transfer transfer, const std::string& mirror, const FetchRequest& request, milliseconds timeout,
                          const std::string& authorities, std::size_t& bytes) {
  // Several processes may fill the cache folder at the same time.
  AtomicFile file(request.path, fmt::format(".{}.part", getpid()));
  const auto write = [&](std::string_view part) {
    file.write(part);
    bytes += part.size();
  };
  const auto progress = [&](std::size_t now, std::size_t total) {
    if (request.progress) request.progress(mirror, now, total);
  };
  const std::string problem = transfer({mirror + request.name, request.max_bytes, timeout, authorities, write, progress});
  if (!problem.empty()) return problem;
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

Fetcher::Fetcher(Transfer transfer, std::vector<std::string> mirrors, milliseconds timeout, std::string authorities)
    : transfer_(transfer), mirrors_(std::move(mirrors)), timeout_(timeout), authorities_(std::move(authorities)) {
  if (transfer_ == nullptr) throw DataError("nothing can be downloaded here");
}

std::size_t Fetcher::fetch(const FetchRequest& request) {
  while (!mirrors_.empty() && timeout_ > milliseconds(0)) {
    const Clock::time_point start = Clock::now();
    std::size_t bytes = 0;
    std::string problem;
    try {
      problem = transfer_file(transfer_, mirrors_.front(), request, timeout_, authorities_, bytes);
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
