#pragma once

// What a rank does at a moment of a training step.

namespace mgcompare {

enum class Phase {
  compute,    // inside the network's forward pass, loss and backward pass
  optimizer,  // inside an optimiser
  input,      // gathering a batch of samples
  exchange,   // inside a collective of all ranks
  transfer,   // inside another call that moves data: over the host link, or between two ranks
  waiting,    // for other ranks
  strategy,   // inside step(), but in none of the calls above
  outside     // outside of step()
};

// What a call of Phase::exchange moves.
struct ExchangeSize {
  const char* call = nullptr;       // "all_reduce"; a string literal
  double bytes = 0;                 // sent by this rank
  double payload = 0;               // bytes of the whole vector, all parts of a gather or scatter together
};

inline constexpr int kPhases = static_cast<int>(Phase::outside) + 1;

}  // namespace mgcompare
