#include "mpi/channel_transfers.h"

#include <sys/prctl.h>

#include <algorithm>

#include "mpi/library_call.h"

namespace mgcompare {
namespace {

using namespace std::chrono_literals;

// Between two questions, each of which takes up to 20 us of a core: in proportion to the time in which nothing happened, so that an answer comes
// at most that share late. A rank that exchanges at its own pace waits no longer than `kUsualPause`; a training without such transfers is not disturbed.
constexpr auto kShortestPause = 20us, kUsualPause = 1000us, kLongestPause = 10000us;
constexpr auto kLongQuiet = 1s;
constexpr int kQuestions = 16;
constexpr unsigned long kTimerNanoseconds = 1000;  // 50 us by default, more than a pause

}  // namespace

void ChannelTransfers::open(MPI_Comm comm) {
  comm_ = comm;
  thread_ = std::thread([this] { run(); });
}

void ChannelTransfers::transfer(int channel, const std::vector<Outgoing>& out, const std::vector<Incoming>& in) {
  if (aborted_) throw Aborted();
  Transfer transfer;
  std::unique_lock lock(library_);
  try {
    for (const Incoming& part : in) post(transfer, channel, part.host, part.data, part.bytes, true);
    for (const Outgoing& part : out) post(transfer, channel, part.host, const_cast<void*>(part.data), part.bytes, false);
    test();                         // what is short is sent at once
    last_event_ = Clock::now();
    posted_.notify_one();
    transfer.changed.wait(lock, [&] { return aborted_ || transfer.left == 0 || !transfer.problem.empty(); });
  } catch (...) {
    forget(transfer);
    throw;
  }
  if (transfer.left == 0) return;
  forget(transfer);
  if (!transfer.problem.empty()) throw Error(transfer.problem);
  throw Aborted();
}

void ChannelTransfers::post(Transfer& of, int channel, std::size_t host, void* data, std::size_t bytes, bool receives) {
  for (std::size_t begin = 0; begin < bytes; begin += kLargestPart) {
    const auto size = static_cast<int>(std::min(kLargestPart, bytes - begin));
    char* const at = static_cast<char*>(data) + begin;
    MPI_Request request = MPI_REQUEST_NULL;
    expect_success(receives ? MPI_Irecv(at, size, MPI_BYTE, static_cast<int>(host), channel, comm_, &request)
                            : MPI_Isend(at, size, MPI_BYTE, static_cast<int>(host), channel, comm_, &request),
                   "transfer data");
    requests_.push_back(request);
    parts_.push_back({&of, size, receives});
    ++of.left;
  }
}

void ChannelTransfers::test() {
  const std::size_t count = requests_.size();
  std::vector<int> complete(count);
  std::vector<MPI_Status> statuses(count);
  int completed = 0;
  const int code = MPI_Testsome(static_cast<int>(count), requests_.data(), &completed, complete.data(), statuses.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    for (const Part& part : parts_) part.of->problem = mpi_problem(code, "transfer data"), part.of->changed.notify_one();
    return;
  }
  if (completed <= 0) return;
  for (int i = 0; i < completed; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Part& part = parts_[static_cast<std::size_t>(complete[at])];
    int bytes = part.bytes;
    if (part.is_received) MPI_Get_count(&statuses[at], MPI_BYTE, &bytes);
    if (code != MPI_SUCCESS && statuses[at].MPI_ERROR != MPI_SUCCESS) part.of->problem = mpi_problem(statuses[at].MPI_ERROR, "transfer data");
    else if (bytes != part.bytes) part.of->problem = "a host sent " + std::to_string(bytes) + " bytes, expected " + std::to_string(part.bytes);
    else --part.of->left;
    if (part.of->left == 0 || !part.of->problem.empty()) part.of->changed.notify_one();
  }
  std::size_t kept = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (requests_[k] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[k];
    parts_[kept++] = parts_[k];
  }
  requests_.resize(kept);
  parts_.resize(kept);
  last_event_ = Clock::now();
}

// Other calls still make progress, and must not write to memory that the unwinding thread frees.
void ChannelTransfers::forget(const Transfer& transfer) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    if (parts_[k].of == &transfer) {
      if (parts_[k].is_received) MPI_Cancel(&requests_[k]);
      continue;
    }
    requests_[kept] = requests_[k];
    parts_[kept++] = parts_[k];
  }
  requests_.resize(kept);
  parts_.resize(kept);
}

void ChannelTransfers::run() {
  prctl(PR_SET_TIMERSLACK, kTimerNanoseconds);
  std::unique_lock lock(library_);
  for (;;) {
    posted_.wait(lock, [&] { return is_stopped_ || !requests_.empty(); });
    if (is_stopped_) return;
    if (aborted_) {
      for (const Part& part : parts_) part.of->changed.notify_one();
    } else {
      test();
    }
    const Clock::duration quiet = Clock::now() - last_event_;
    posted_.wait_for(lock, std::clamp<Clock::duration>(quiet / kQuestions, kShortestPause, quiet < kLongQuiet ? kUsualPause : kLongestPause));
  }
}

void ChannelTransfers::stop() {
  {
    const std::lock_guard lock(library_);
    is_stopped_ = true;
    posted_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace mgcompare
