#pragma once

// The forward and backward pass of one rank, recorded once for each batch shape and repeated by the device: for
// strategies in whose steps the host decides, so that whole steps cannot be recorded.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "mgcompare/batch.h"
#include "platform.h"

namespace mgcompare {

class RecordedPass {
 public:
  explicit RecordedPass(std::unique_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {}

  // Queues `pass`, whose device work depends on nothing but the batch's position and size and on the factor.
  void run(const Batch& batch, float factor, const std::function<void()>& pass);

 private:
  using Key = std::pair<std::size_t, float>;  // samples, factor

  std::unique_ptr<Recorder> recorder_;
  std::map<Key, std::optional<std::size_t>> recordings_;
};

}  // namespace mgcompare
