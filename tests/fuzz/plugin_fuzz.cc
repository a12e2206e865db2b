// The bytes of a plugin file are a plugin, or refused with Error; the search for records ends in any case.

#include <cstdlib>

#include "discovery/plugin_image.h"
#include "mgcompare/error.h"

using namespace mgcompare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  try {
    check_library(rest);
  } catch (const Error&) {
  }
  PluginRecord record;
  for (std::size_t before = rest.size(); next_record(rest, record); before = rest.size())
    if (rest.size() >= before || record.contract.size() > 800) std::abort();
  return 0;
}
