#include "runtime/host_service.h"

#include <cstdio>
#include <exception>
#include <string>

#include "base/affinity.h"
#include "measure/processor_time.h"
#include "mgcompare/error.h"
#include "runtime/rank_group.h"

namespace mgcompare {
namespace {

using Ask = AccessRequest::Kind;

// Ends a call of the scheduler whose function threw on its own host, where the error goes on.
struct FailedElsewhere : Error {
  explicit FailedElsewhere(std::size_t rank) : Error("a section or condition failed on rank " + std::to_string(rank)) {}
};

}  // namespace

HostService::HostService(CommContext& context, HostAccess& access) : context_(context), access_(access) {
  for (std::size_t rank = 0; rank < access.span().all; ++rank)
    if (access.host_of(rank) != access.hosts().number) clients_.emplace_back().rank = rank;
  try {
    for (Client& client : clients_) client.thread = std::thread([this, &client] { run(client); });
  } catch (...) {
    context_.abort();
    join();
    throw;
  }
}

HostService::~HostService() { join(); }

void HostService::join() {
  for (Client& client : clients_)
    if (client.thread.joinable()) client.thread.join();
}

void HostService::run(Client& client) {
  const ServiceThread registered;
  run_on_all_cores();
  try {
    for (AccessRequest request = next(client); request.kind != Ask::end; request = next(client)) schedule(client, request);
  } catch (const Aborted&) {
    context_.abort();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mgcompare: the requests of rank %zu end: %s\n", client.rank, error.what());
    context_.abort();
  }
}

AccessRequest HostService::next(Client& client) {
  for (;;) {
    AccessRequest request;
    receive(client, &request, sizeof(request));
    if (request.kind > Ask::add) return request;
    access_window(client, request);
  }
}

void HostService::access_window(Client& client, const AccessRequest& request) {
  const int peer = static_cast<int>(request.rank);
  float* const memory = context_.window(request.rank, request.window).data() + request.number;
  client.elements.resize(request.size);
  const Vec elements(client.elements.data(), request.size);
  if (request.kind == Ask::get) {
    context_.collectives().load(peer, memory, elements);
    return send(client, elements.data(), elements.bytes());
  }
  receive(client, elements.data(), elements.bytes());
  if (request.kind == Ask::put) context_.collectives().store(peer, memory, elements);
  else context_.collectives().accumulate(peer, memory, elements);
  reply(client);
}

void HostService::schedule(Client& client, const AccessRequest& request) {
  AsyncScheduler& scheduler = context_.scheduler();
  const std::size_t rank = client.rank;
  try {
    switch (request.kind) {
      case Ask::exclusive:
        return scheduler.exclusive(rank, request.number, [&] {
          reply(client);
          if (next(client).kind == Ask::failed) throw FailedElsewhere(rank);
        });
      case Ask::wait_until:
        scheduler.wait_until(rank, [&] { return evaluate(client); });
        return reply(client);
      case Ask::spend: return scheduler.spend(rank, request.amount);
      case Ask::enter:
        scheduler.enter(rank, request.number);
        return reply(client);
      case Ask::leave:
        scheduler.leave(rank);
        return reply(client);
      case Ask::draw: return reply(client, {.draw = context_.draw(rank, request.number, request.size)});
      default: throw Error("rank " + std::to_string(rank) + " sent a request out of order");
    }
  } catch (const Aborted&) {
    throw;
  } catch (const FailedElsewhere&) {
  } catch (const std::exception& error) {
    const std::string text = error.what();
    reply(client, {.kind = AccessReply::Kind::error, .text = text.size()});
    send(client, text.data(), text.size());
  }
}

bool HostService::evaluate(Client& client) {
  reply(client, {.kind = AccessReply::Kind::evaluate});
  const Ask answer = next(client).kind;
  if (answer == Ask::failed) throw FailedElsewhere(client.rank);
  return answer == Ask::holds;
}

void HostService::send(const Client& client, const void* data, std::size_t bytes) {
  access_.hosts().transport->transfer(access_.channel(client.rank), {{access_.host_of(client.rank), data, bytes}}, {});
}

void HostService::receive(const Client& client, void* data, std::size_t bytes) {
  access_.hosts().transport->transfer(access_.channel(client.rank), {}, {{access_.host_of(client.rank), data, bytes}});
}

}  // namespace mgcompare
