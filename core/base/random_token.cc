#include "base/random_token.h"

#include <fmt/format.h>

#include <random>

namespace mgcompare {

std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace mgcompare
