#pragma once

// Implements Group for ranks that are threads: one CommContext for all ranks of a process, one RankGroup for each of them. On several
// hosts there is one process on each.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/abortable_barrier.h"
#include "measure/ledger.h"
#include "mgcompare/device.h"
#include "mgcompare/group.h"
#include "runtime/async_scheduler.h"
#include "runtime/host_access.h"
#include "runtime/sample_draws.h"
#include "runtime/rank_span.h"
#include "platform/platform.h"
#include "results/placement.h"
#include "measure/step_clock.h"

namespace mgcompare {

class HostService;

// The communication state that the ranks of a trial share. Must outlive every RankGroup made from it.
class CommContext {
 public:
  // `scheduler`: of all ranks; on several hosts only that of the first one is used. `first_channel`: of the transport, of as many as there
  // are ranks, which no other context uses at the same time.
  CommContext(Collectives& collectives, const RankSpan& span, std::unique_ptr<AsyncScheduler> scheduler, const HostSpan& hosts = {},
              int first_channel = 0);
  // On several hosts, waits until it is destroyed or aborted on the others, whose ranks may still reach memory of this one.
  ~CommContext();
  AsyncScheduler& scheduler() { return *scheduler_; }
  Collectives& collectives() { return collectives_; }
  std::size_t ranks() const { return span_.all; }
  // What rank `rank` has exposed as this window.
  Vec window(std::size_t rank, std::size_t number) const;
  // The next of `samples`, at most `most`, for a rank at free pace; reset_draws() begins an epoch, before any rank enters it.
  SampleDraw draw(std::size_t rank, std::size_t most, std::size_t samples);
  void reset_draws() { draws_.reset(); }
  // Releases all ranks that wait, now and later, with Aborted. Any thread.
  void abort();
  // Destroys the objects that the ranks share. Call after their strategies are destroyed. `bytes`: the heap that it released.
  std::vector<Kept> release_shared_objects();

 private:
  friend class RankGroup;
  bool is_here(std::size_t rank) const { return rank >= span_.first && rank < span_.first + span_.here; }
  // On several hosts the collectives count what is sent. Otherwise it follows from the sizes, in a rehearsal too.
  bool is_on_one_host() const { return access_ == nullptr; }
  // The other ranks exist in number only.
  bool is_rehearsal() const { return is_on_one_host() && !span_.is_whole(); }
  // Returns when all ranks of all hosts have called it. `between_hosts`: what the first rank of each host then does meanwhile.
  template <class Work> void meet_all(std::size_t rank, Work between_hosts);
  // Tells all hosts how large the ranks' windows of this number are.
  void exchange_sizes(std::size_t window);

  Collectives& collectives_;
  RankSpan span_;
  std::unique_ptr<HostAccess> access_;      // this and the service: only on several hosts
  std::unique_ptr<AsyncScheduler> scheduler_;
  SampleDraws draws_;               // on the first host; guarded by the stripe of draws
  AbortableBarrier barrier_;
  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::map<std::string, std::shared_ptr<void>> objects_;  // by mangled name of the type, and name
  std::vector<std::vector<Vec>> windows_;  // [rank][window]; of ranks elsewhere only the sizes
  bool aborted_ = false;
  std::unique_ptr<HostService> service_;
};

class RankGroup : public Group {
 public:
  // `device`: the rank's, if its memory is not the host's, for access to other hosts.
  RankGroup(CommContext& context, std::size_t rank, Device* device = nullptr) : context_(context), rank_(rank), device_(device) {}
  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(context_.ranks()); }
  void barrier() override;
  void exclusive(std::size_t stripe, const std::function<void()>& f) override;
  void wait_until(const std::function<bool()>& predicate) override;
  int expose(Vec memory) override;

  // Bytes sent, and exclusive sections run, since the last reset_counts().
  std::uint64_t bytes() const { return bytes_; }
  // Of these, those that all_reduce_statistics() sent.
  std::uint64_t network_bytes() const { return network_bytes_; }
  // The network's own exchange, for batch normalisation over all ranks. No promise of a strategy can rest on it.
  void all_reduce_statistics(Vec sums) {
    const std::uint64_t before = bytes_;
    all_reduce(sums);
    network_bytes_ += bytes_ - before;
  }
  std::uint64_t exclusive_sections() const { return exclusive_sections_; }
  void reset_counts() { bytes_ = network_bytes_ = exclusive_sections_ = 0; }
  // By which ranks may have met or sent something.
  std::uint64_t calls() const { return calls_; }
  Ledger& ledger() { return ledger_; }
  // The traffic between hosts; that of ledger() is then only the traffic within a host.
  Ledger& host_ledger() { return host_ledger_; }
  std::uint64_t exposed_bytes() const;
  // Collectives and barrier() throw Error from now on, or no longer. At free pace ranks make different numbers of steps: one
  // that waits in a step for all of them may wait for ever.
  void forbid_collectives(bool forbidden) { no_collectives_ = forbidden; }
  // Adds the bytes of replayed steps. Wraps around, so that bytes can be subtracted.
  void add_bytes(std::uint64_t bytes) { bytes_ += bytes; }

 protected:
  void all_reduce_raw(void* data, std::size_t count, Type type) override;
  void reduce_raw(void* data, std::size_t count, Type type, int root) override;
  void broadcast_raw(void* data, std::size_t bytes, int root) override;
  void gather_raw(const void* mine, void* all, const Counts& bytes, int root) override;
  void scatter_raw(const void* all, void* mine, const Counts& bytes, int root) override;
  void all_gather_raw(const void* mine, void* all, const Counts& bytes) override;
  void reduce_scatter_raw(const void* all, void* mine, const Counts& counts, Type type) override;
  void all_to_all_raw(const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) override;
  void* shared_raw(const std::string& key, const std::function<std::shared_ptr<void>()>& make) override;
  void get_raw(int rank, int window, std::size_t begin, Vec into) override;
  void put_raw(int rank, int window, std::size_t begin, ConstVec from) override;
  void add_raw(int rank, int window, std::size_t begin, ConstVec from) override;

 private:
  // Adds what the last call sent to the ledgers and returns the bytes.
  double count_traffic(const char* name);
  // Makes a call that moves data and returns the seconds it waited. Counts its time for the phase and its bytes in the ledger.
  template <class Call> void move_data(Phase phase, const char* name, double bytes, double payload, Call call);
  // The same for a window of rank `peer`.
  template <class Call> void access(const char* name, int peer, std::size_t bytes, Call call);
  // Elements in memory of the host, on their way to or from another one.
  Vec staged(std::size_t size);
  ConstVec on_host(ConstVec from);
  float* window(int rank, int number, std::size_t begin, std::size_t size) const;
  void check(const char* verb, const Counts& counts, int root = 0) const;
  void expect_meeting(const char* verb) const;

  CommContext& context_;
  std::size_t rank_;
  Device* device_;
  Array<float> staging_;            // grows as needed
  std::uint64_t bytes_ = 0, network_bytes_ = 0, exclusive_sections_ = 0, calls_ = 0;
  bool no_collectives_ = false;
  Ledger ledger_, host_ledger_;
  double remainder_ = 0;  // fractions of bytes from the ring formulas, so that totals stay exact
};

}  // namespace mgcompare
