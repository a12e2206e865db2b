#pragma once

// What a rank does at a moment of its training.

namespace mgcompare {

enum class Phase {
  compute,    // inside the network's forward pass, loss and backward pass
  optimizer,  // inside an optimiser
  input,      // making a batch of samples
  exchange,   // inside a collective, in which all ranks meet
  transfer,   // inside any other call that moves data: over a host link, to or from one other rank
  waiting,    // until other ranks come
  strategy,   // inside step(), and in none of the calls above
  outside     // of step()
};

inline constexpr int kPhases = static_cast<int>(Phase::outside) + 1;

}  // namespace mgcompare
