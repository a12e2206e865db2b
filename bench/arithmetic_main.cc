// Compares the arithmetic of compression strategies with memory bandwidth: bench_arithmetic [cpu | cuda] [ELEMENTS]

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "arithmetic.h"
#include "modules/platform_host.h"

int main(int argc, char** argv) {
  using namespace mgcompare;
  const std::string kind = argc > 1 ? argv[1] : "cpu";
  const std::size_t elements = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 25'000'000;
  if ((kind != "cpu" && kind != "cuda") || elements == 0 || elements > 1'000'000'000) {
    std::fputs("usage: bench_arithmetic [cpu | cuda] [ELEMENTS, at most 1000000000]\n", stderr);
    return 2;
  }
  try {
    const std::unique_ptr<Device> device = platform(kind == "cpu" ? DeviceKind::cpu : DeviceKind::cuda).open(0);
    time_arithmetic(*device, elements);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_arithmetic: %s\n", error.what());
    return 4;
  }
}
