#include "services/host_names.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

std::string own_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string first_label(const std::string& name) { return name.substr(0, name.find('.')); }

// Debian gives a machine's own name the address 127.0.1.1, which no interface has.
bool is_loopback(const addrinfo& found) {
  const in_addr address = reinterpret_cast<const sockaddr_in*>(found.ai_addr)->sin_addr;
  return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

// Whether one of this machine's interfaces has an address of the name.
bool has_address_of(const std::string& name) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  ifaddrs* interfaces = nullptr;
  getifaddrs(&interfaces);
  bool is_own = false;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
    for (const ifaddrs* interface = interfaces; interface != nullptr; interface = interface->ifa_next)
      if (interface->ifa_addr != nullptr && interface->ifa_addr->sa_family == AF_INET)
        is_own |= std::memcmp(&reinterpret_cast<const sockaddr_in*>(interface->ifa_addr)->sin_addr,
                              &reinterpret_cast<const sockaddr_in*>(one->ai_addr)->sin_addr, sizeof(in_addr)) == 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) is_own |= is_loopback(*one);
  freeifaddrs(interfaces);
  freeaddrinfo(found);
  return is_own;
}

bool is_this_machine(const std::string& name) {
  const std::string own = own_name();
  return name == own || first_label(name) == first_label(own) || has_address_of(name);
}

// Names of other machines may begin alike, so only an address tells.
bool is_other_name_of_this_machine(const std::string& name) { return name == own_name() || has_address_of(name); }

}  // namespace

void check_host_names(const std::vector<std::string>& names) {
  if (!is_this_machine(names.front()))
    throw Error(fmt::format("the first host is {}, and this machine is {}: run mgcompare on the first host, or name this machine first", names.front(),
                            own_name()));
  for (std::size_t i = 1; i < names.size(); ++i)
    if (is_other_name_of_this_machine(names[i]))
      throw Error(fmt::format("host {} is this machine, {}, under another name: name each machine once in --hosts or hosts.names", names[i], names.front()));
}

}  // namespace mgcompare
