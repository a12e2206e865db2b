#include "platform/transport.h"

#include <cstdint>

namespace mgcompare {

void broadcast(const HostSpan& hosts, void* data, std::size_t bytes) {
  if (hosts.count == 1) return;
  if (hosts.number != 0) return hosts.transport->exchange({}, {{0, data, bytes}});
  std::vector<Outgoing> to_others;
  for (std::size_t host = 1; host < hosts.count; ++host) to_others.push_back({host, data, bytes});
  hosts.transport->exchange(to_others, {});
}

void broadcast(const HostSpan& hosts, std::string& text) {
  std::uint64_t size = text.size();
  broadcast(hosts, &size, sizeof(size));
  text.resize(size);
  broadcast(hosts, text.data(), size);
}

std::vector<std::string> gather(const HostSpan& hosts, const std::string& text) {
  if (hosts.count == 1) return {text};
  std::uint64_t size = text.size();
  if (hosts.number != 0) {
    hosts.transport->exchange({{0, &size, sizeof(size)}}, {});
    hosts.transport->exchange({{0, text.data(), text.size()}}, {});
    return {};
  }
  std::vector<std::uint64_t> sizes(hosts.count, size);
  std::vector<std::string> texts(hosts.count, text);
  std::vector<Incoming> lengths, contents;
  for (std::size_t host = 1; host < hosts.count; ++host) lengths.push_back({host, &sizes[host], sizeof(size)});
  hosts.transport->exchange({}, lengths);
  for (std::size_t host = 1; host < hosts.count; ++host) {
    texts[host].resize(sizes[host]);
    contents.push_back({host, texts[host].data(), texts[host].size()});
  }
  hosts.transport->exchange({}, contents);
  return texts;
}

void meet(const HostSpan& hosts) {
  std::uint8_t here = 0;
  gather(hosts, "");
  broadcast(hosts, &here, sizeof(here));
}

}  // namespace mgcompare
