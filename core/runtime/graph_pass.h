#pragma once

// The forward and backward pass of one rank, recorded once for each batch shape and repeated by the device: for
// strategies in whose steps the host decides, so that whole steps cannot be recorded.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "mgcompare/batch.h"
#include "mgcompare/replica.h"
#include "platform/platform.h"

namespace mgcompare {

class GraphPass {
 public:
  // One of the passes that are repetitions of each other.
  struct Sample {
    Batch batch;
    Scale scale;
  };
  // `pass` queues work that depends on nothing but the batch's position and size and on the loss's scale. `seen`: what
  // need not run unrecorded first, because libraries have allocated and chosen for it already.
  GraphPass(std::unique_ptr<GraphRecorder> recorder, std::function<void(const Sample&)> pass,
               const std::vector<Sample>& seen);

  // Queues the pass.
  void run(const Sample& sample);
  // Records one pass of each shape that was seen and is not recorded. Never within a step: making a recording may
  // allocate, which can wait for the exchange of a rank that waits for this one.
  void record();
  std::vector<Sample> seen() const;

 private:
  using Shape = std::pair<std::size_t, std::size_t>;  // samples, and by how many the loss is scaled
  struct Seen {
    Sample sample;
    std::optional<std::size_t> recording;
  };
  static Shape shape_of(const Sample& sample);

  std::unique_ptr<GraphRecorder> recorder_;
  std::function<void(const Sample&)> pass_;
  std::map<Shape, Seen> seen_;
};

}  // namespace mgcompare
