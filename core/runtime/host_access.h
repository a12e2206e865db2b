#pragma once

// How the ranks of this host reach the other hosts: the memory of their ranks, and the scheduler, which is on the first host. Each rank has
// a channel of its own, on which it sends requests and waits for the replies of HostService.

#include "platform/transport.h"
#include "mgcompare/types.h"
#include "runtime/access_message.h"
#include "runtime/async_scheduler.h"
#include "runtime/rank_span.h"

namespace mgcompare {

class HostAccess {
 public:
  // `first_channel`: that of rank 0, of as many as there are ranks.
  HostAccess(const HostSpan& hosts, const RankSpan& span, int first_channel) : hosts_(hosts), span_(span), first_channel_(first_channel) {}

  // Called by rank `rank` of this host, which waits until the memory of `peer`, a rank of another host, is read or written.
  void get(std::size_t rank, std::size_t peer, int window, std::size_t begin, Vec into);
  void put(std::size_t rank, std::size_t peer, int window, std::size_t begin, ConstVec from);
  void add(std::size_t rank, std::size_t peer, int window, std::size_t begin, ConstVec from);

  // To the first host.
  void tell(std::size_t rank, const AccessRequest& request);
  // Throws Error with the sentence of an error there.
  AccessReply reply(std::size_t rank);
  AccessReply ask(std::size_t rank, const AccessRequest& request);

  // To the service of every other host: this rank sends nothing any more.
  void end(std::size_t rank);

  const HostSpan& hosts() const { return hosts_; }
  const RankSpan& span() const { return span_; }
  std::size_t host_of(std::size_t rank) const { return rank / span_.here; }
  int channel(std::size_t rank) const { return first_channel_ + static_cast<int>(rank); }

 private:
  void write(AccessRequest::Kind kind, std::size_t rank, std::size_t peer, int window, std::size_t begin, ConstVec from);

  HostSpan hosts_;
  RankSpan span_;
  int first_channel_;
};

// On hosts other than the first: passes all calls on to it. Functions and conditions run on the thread of their own rank. Ranks that wait are
// released when the transport is aborted. `access` must outlive it. `has_clocks`: of the scheduler of the first host; without them spend()
// sends nothing.
std::unique_ptr<AsyncScheduler> distant_scheduler(HostAccess& access, bool has_clocks);

}  // namespace mgcompare
