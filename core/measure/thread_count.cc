#include "measure/thread_count.h"

#include <filesystem>
#include <iterator>

namespace mgcompare {

std::size_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

}  // namespace mgcompare
