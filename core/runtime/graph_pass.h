#pragma once

// The forward and backward pass of one rank, captured once for each batch shape and replayed by the device. For strategies
// whose host code takes part in each step, so that whole steps cannot be captured. Used by the rank's thread only.

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
  // A pass. Passes of the same shape are replays of one graph.
  struct Sample {
    Batch batch;
    Scale scale;
  };
  // `pass` queues work that depends only on the position and size of the batch and on the scale of the loss. `seen`: passes
  // that may be captured without a first eager run, because libraries have already allocated and selected kernels for them.
  GraphPass(std::unique_ptr<GraphRecorder> recorder, std::function<void(const Sample&)> pass,
               const std::vector<Sample>& seen);

  // Queues the pass: a replay where it was captured, else the pass itself.
  void run(const Sample& sample);
  // Captures one pass of each shape that was seen and not yet captured. Never call it within a step: capture may allocate,
  // which can wait for an exchange of a rank that waits for this one.
  void capture();
  std::vector<Sample> seen() const;

 private:
  using Shape = std::pair<std::size_t, std::size_t>;  // samples of the batch, and the divisor of the loss
  struct Seen {
    Sample sample;
    std::optional<std::size_t> graph;  // its number in the recorder
  };
  static Shape shape_of(const Sample& sample);

  std::unique_ptr<GraphRecorder> recorder_;
  std::function<void(const Sample&)> pass_;
  std::map<Shape, Seen> seen_;
};

}  // namespace mgcompare
