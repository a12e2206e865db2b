#pragma once

// Answers the ranks of other hosts: a thread for each of them, which sleeps until the rank asks. It reads and writes the windows of this host's
// ranks, and on the first host calls the scheduler in the rank's place.

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/access_message.h"
#include "runtime/host_access.h"

namespace mgcompare {

class CommContext;

class HostService {
 public:
  // Both must outlive it.
  HostService(CommContext& context, HostAccess& access);
  // Waits until the ranks of all other hosts have sent their end, or until the transport is aborted.
  ~HostService();

 private:
  // What a rank of another host needs.
  struct Client {
    std::size_t rank = 0;
    std::vector<float> elements;    // kept, so that no allocation disturbs a step
    std::thread thread;
  };

  void join();
  void run(Client& client);
  // Serves accesses to windows until the rank asks for something else, which is returned.
  AccessRequest next(Client& client);
  void access_window(Client& client, const AccessRequest& request);
  // Calls the scheduler, and replies.
  void schedule(Client& client, const AccessRequest& request);
  // Asks the rank whether its condition holds. Any thread, while the client's own waits.
  bool evaluate(Client& client);
  void send(const Client& client, const void* data, std::size_t bytes);
  void receive(const Client& client, void* data, std::size_t bytes);
  void reply(const Client& client, AccessReply reply = {}) { send(client, &reply, sizeof(reply)); }

  CommContext& context_;
  HostAccess& access_;
  std::vector<Client> clients_;
};

}  // namespace mgcompare
