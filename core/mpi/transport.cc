// The MPI transport module. All calls to the library are made under one lock, none of them waits in it for longer than a transfer takes,
// and threads that wait sleep between them: the library itself would spin, on the core of a rank.

#include "platform/transport.h"

#include <mpi.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "mgcompare/error.h"
#include "mpi/channel_transfers.h"
#include "mpi/library_call.h"

namespace mgcompare {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kTag = 1;
constexpr auto kShortSleep = 20us, kLongSleep = 200us;
constexpr auto kBusyTime = 5ms;     // after which transfers are unlikely to end soon
constexpr auto kSendLimit = 2s;

// Linux lets a thread sleep 50 us longer than it asks for, so that it can wake several at once.
class PreciseSleep {
 public:
  PreciseSleep() { prctl(PR_SET_TIMERSLACK, 1UL); }
  ~PreciseSleep() { prctl(PR_SET_TIMERSLACK, before_); }
  PreciseSleep(const PreciseSleep&) = delete;
  PreciseSleep& operator=(const PreciseSleep&) = delete;

 private:
  unsigned long before_ = static_cast<unsigned long>(prctl(PR_GET_TIMERSLACK));
};

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    int threads = 0;
    expect_success(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads), "start");
    if (threads < MPI_THREAD_SERIALIZED)
      throw Error("this MPI library cannot be called by several threads; use one that was built with support for threads");
    int number = 0, count = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    host_ = static_cast<std::size_t>(number);
    hosts_ = static_cast<std::size_t>(count);
    expect_success(MPI_Comm_dup(MPI_COMM_WORLD, &data_), "connect the hosts");
    expect_success(MPI_Comm_dup(MPI_COMM_WORLD, &texts_), "connect the hosts");
    expect_success(MPI_Comm_dup(MPI_COMM_WORLD, &channels_), "connect the hosts");
    for (MPI_Comm comm : {MPI_COMM_WORLD, data_, texts_, channels_}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    channel_transfers_.open(channels_);
  }

  std::size_t host() const override { return host_; }
  std::size_t hosts() const override { return hosts_; }

  std::string version() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole(text, static_cast<std::size_t>(length));
    return whole.substr(0, whole.find(','));
  }

  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    if (aborted_) throw Aborted();
    Transfers transfers;
    {
      const std::lock_guard lock(mutex_);
      for (const Incoming& part : in) post(transfers, part.host, part.data, part.bytes, MPI_Irecv);
      transfers.receives = transfers.requests.size();
      for (const Outgoing& part : out) {
        post(transfers, part.host, const_cast<void*>(part.data), part.bytes, MPI_Isend);
      }
    }
    const Clock::time_point start = Clock::now();
    const PreciseSleep precise;
    while (!are_complete(transfers)) {
      if (aborted_) {
        cancel(transfers);
        throw Aborted();
      }
      std::this_thread::sleep_for(Clock::now() - start < kBusyTime ? kShortSleep : kLongSleep);
    }
  }

  void transfer(int channel, const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    channel_transfers_.transfer(channel, out, in);
  }

  void send(std::size_t host, std::string_view text) override {
    const Clock::time_point give_up = Clock::now() + kSendLimit;
    std::list<Text> own(1);
    const auto sent = own.begin();
    sent->content = text;
    {
      const std::lock_guard lock(mutex_);
      if (is_finished_) return;
      expect_success(MPI_Isend(sent->content.data(), static_cast<int>(sent->content.size()), MPI_BYTE, static_cast<int>(host), kTag, texts_, &sent->request),
             "send a message");
    }
    while (!is_complete(sent->request)) {
      if (Clock::now() > give_up) {
        // The library still reads it.
        const std::lock_guard lock(mutex_);
        unsent_.splice(unsent_.end(), own);
        return;
      }
      std::this_thread::sleep_for(kLongSleep);
    }
  }

  std::optional<HostMessage> receive() override {
    const std::lock_guard lock(mutex_);
    if (is_finished_) return std::nullopt;
    int is_there = 0, bytes = 0;
    MPI_Message message;
    MPI_Status status;
    expect_success(MPI_Improbe(MPI_ANY_SOURCE, kTag, texts_, &is_there, &message, &status), "look for messages");
    if (is_there == 0) return std::nullopt;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    HostMessage found{static_cast<std::size_t>(status.MPI_SOURCE), std::string(static_cast<std::size_t>(bytes), '\0')};
    expect_success(MPI_Mrecv(found.text.data(), bytes, MPI_BYTE, &message, &status), "receive a message");
    return found;
  }

  void abort() override { aborted_ = true; }

  void finish() override {
    channel_transfers_.stop();
    const std::lock_guard lock(mutex_);
    is_finished_ = true;
    MPI_Finalize();
  }

 private:
  struct Text {
    std::string content;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  // Of one exchange: the receives first.
  struct Transfers {
    std::vector<MPI_Request> requests;
    std::vector<int> bytes;         // of each
    std::size_t receives = 0;
  };

  template <class Call> void post(Transfers& transfers, std::size_t host, void* data, std::size_t bytes, Call call) {
    for (std::size_t begin = 0; begin < bytes; begin += kLargestPart) {
      const std::size_t part = std::min(kLargestPart, bytes - begin);
      transfers.requests.push_back(MPI_REQUEST_NULL);
      transfers.bytes.push_back(static_cast<int>(part));
      expect_success(call(static_cast<char*>(data) + begin, static_cast<int>(part), MPI_BYTE, static_cast<int>(host), kTag, data_, &transfers.requests.back()),
             "transfer data");
    }
  }

  bool are_complete(Transfers& transfers) {
    const std::lock_guard lock(mutex_);
    std::vector<MPI_Status> statuses(transfers.requests.size());
    int done = 0;
    const int code = MPI_Testall(static_cast<int>(transfers.requests.size()), transfers.requests.data(), &done, statuses.data());
    const bool is_cut = code == MPI_ERR_TRUNCATE || (code == MPI_ERR_IN_STATUS && std::any_of(statuses.begin(), statuses.end(), [](const MPI_Status& status) {
                                                       return status.MPI_ERROR == MPI_ERR_TRUNCATE;
                                                     }));
    if (is_cut) fail_unequal();
    expect_success(code, "transfer data");
    if (done == 0) return false;
    for (std::size_t i = 0; i < transfers.receives; ++i) {
      int bytes = 0;
      MPI_Get_count(&statuses[i], MPI_BYTE, &bytes);
      if (bytes != transfers.bytes[i]) fail_unequal();
    }
    return true;
  }

  [[noreturn]] static void fail_unequal() {
    throw Error("a collective was called with other numbers of elements on another host; pass the same on every rank");
  }

  bool is_complete(MPI_Request& request) {
    const std::lock_guard lock(mutex_);
    int done = 0;
    expect_success(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "send a message");
    return done != 0;
  }

  // Other calls still make progress, and must not write to memory that the unwinding thread frees.
  void cancel(Transfers& transfers) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < transfers.receives; ++i)
      if (transfers.requests[i] != MPI_REQUEST_NULL) MPI_Cancel(&transfers.requests[i]);
  }

  std::size_t host_ = 0, hosts_ = 1;
  MPI_Comm data_ = MPI_COMM_NULL, texts_ = MPI_COMM_NULL, channels_ = MPI_COMM_NULL;
  std::mutex mutex_;                // of all calls to the library
  std::atomic<bool> aborted_{false};
  ChannelTransfers channel_transfers_{mutex_, aborted_};
  std::list<Text> unsent_;
  bool is_finished_ = false;
};

}  // namespace
}  // namespace mgcompare

extern "C" __attribute__((visibility("default"))) mgcompare::Transport* mgcompare_transport() {
  // Never destroyed: the library may be in use until the process ends.
  static mgcompare::Transport* const transport = new mgcompare::MpiTransport;
  return transport;
}
