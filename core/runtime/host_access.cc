#include "runtime/host_access.h"

#include <string>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

using Ask = AccessRequest::Kind;

class DistantScheduler : public AsyncScheduler {
 public:
  DistantScheduler(HostAccess& access, bool has_clocks) : access_(access), has_clocks_(has_clocks) {}

  void exclusive(std::size_t rank, std::size_t stripe, const std::function<void()>& f) override {
    access_.ask(rank, {.kind = Ask::exclusive, .number = stripe});
    call(rank, f);
    access_.tell(rank, {.kind = Ask::released});
  }

  void wait_until(std::size_t rank, const std::function<bool()>& predicate) override {
    access_.tell(rank, {.kind = Ask::wait_until});
    while (access_.reply(rank).kind == AccessReply::Kind::evaluate) {
      bool holds = false;
      call(rank, [&] { holds = predicate(); });
      access_.tell(rank, {.kind = holds ? Ask::holds : Ask::holds_not});
    }
  }

  bool has_clocks() const override { return has_clocks_; }
  // Called in every step.
  void spend(std::size_t rank, double samples) override {
    if (has_clocks_) access_.tell(rank, {.kind = Ask::spend, .amount = samples});
  }
  void enter(std::size_t rank, std::size_t epoch) override { access_.ask(rank, {.kind = Ask::enter, .number = epoch}); }
  void leave(std::size_t rank) override { access_.ask(rank, {.kind = Ask::leave}); }
  void abort() override {}

 private:
  template <class F> void call(std::size_t rank, const F& f) {
    try {
      f();
    } catch (const Aborted&) {
      throw;
    } catch (...) {
      access_.tell(rank, {.kind = Ask::failed});
      throw;
    }
  }

  HostAccess& access_;
  const bool has_clocks_;
};

AccessRequest to_window(Ask kind, std::size_t peer, int window, std::size_t begin, std::size_t size) {
  return {kind, static_cast<std::uint32_t>(peer), static_cast<std::uint32_t>(window), begin, size, 0};
}

}  // namespace

void HostAccess::get(std::size_t rank, std::size_t peer, int window, std::size_t begin, Vec into) {
  if (into.size() == 0) return;
  const AccessRequest request = to_window(Ask::get, peer, window, begin, into.size());
  const std::size_t host = host_of(peer);
  hosts_.transport->transfer(channel(rank), {{host, &request, sizeof(request)}}, {{host, into.data(), into.bytes()}});
}

void HostAccess::put(std::size_t rank, std::size_t peer, int window, std::size_t begin, ConstVec from) {
  write(Ask::put, rank, peer, window, begin, from);
}

void HostAccess::add(std::size_t rank, std::size_t peer, int window, std::size_t begin, ConstVec from) {
  write(Ask::add, rank, peer, window, begin, from);
}

void HostAccess::write(Ask kind, std::size_t rank, std::size_t peer, int window, std::size_t begin, ConstVec from) {
  if (from.size() == 0) return;
  const AccessRequest request = to_window(kind, peer, window, begin, from.size());
  AccessReply reply;
  const std::size_t host = host_of(peer);
  hosts_.transport->transfer(channel(rank), {{host, &request, sizeof(request)}, {host, from.data(), from.bytes()}}, {{host, &reply, sizeof(reply)}});
}

void HostAccess::tell(std::size_t rank, const AccessRequest& request) {
  hosts_.transport->transfer(channel(rank), {{0, &request, sizeof(request)}}, {});
}

AccessReply HostAccess::reply(std::size_t rank) {
  AccessReply reply;
  hosts_.transport->transfer(channel(rank), {}, {{0, &reply, sizeof(reply)}});
  if (reply.kind != AccessReply::Kind::error) return reply;
  std::string text(reply.text, '\0');
  hosts_.transport->transfer(channel(rank), {}, {{0, text.data(), text.size()}});
  throw Error(text);
}

AccessReply HostAccess::ask(std::size_t rank, const AccessRequest& request) {
  tell(rank, request);
  return reply(rank);
}

void HostAccess::end(std::size_t rank) {
  const AccessRequest request;
  for (std::size_t host = 0; host < hosts_.count; ++host)
    if (host != hosts_.number) hosts_.transport->transfer(channel(rank), {{host, &request, sizeof(request)}}, {});
}

std::unique_ptr<AsyncScheduler> distant_scheduler(HostAccess& access, bool has_clocks) {
  return std::make_unique<DistantScheduler>(access, has_clocks);
}

}  // namespace mgcompare
