#pragma once

// What the plugin `liar` can do wrong, by the part of a training that it concerns.

#include <string>
#include <vector>

namespace mgcompare::testing {

inline std::vector<std::string> lies() {
  return {
      // Lies of the gradients, and of the updates with them:
      "nothing",
      "scaled gradients",         // times 1.01
      "dropped sample",           // the last one of each share
      "whole batch",              // every rank computes the shares of all
      "repeats samples",          // the first batch of an epoch in place of others
      "mean of means",            // of unequal shares
      "late noise",               // of 1e-4 on the gradients, from step `step` on
      "noise of the process",     // the same, another in each process
      "freezes a draw",           // the same, by a random number that the process drew first
      "freezes an option",        // the same, from the first `step` of the process on
      "freezes a layer",          // the first tensor is never updated
      "skips updates",            // every second gradient is dropped
      "skips passes",             // no backward pass in every second step
      "accumulates",              // no lie: an update with the gradients of two steps
      "first rate",               // the learning rate of the first step in all steps
      "largest rate",             // that has been so far
      // Lies of the exchange:
      "skipped exchange",         // in every seventh step
      "trains apart",             // each rank on its shares; settle() returns rank 0's weights
      "trains apart noisily",     // the same, with an exchange of one number in each step
      "uncounted exchange",       // gradients are summed through shared memory
      "hidden exchange",          // the same, and one byte is sent in the first step
      "ignores a rank",           // the last one's gradients are 0
      "ignores ranks later",      // all but the first, from the second epoch on
      "ignores ranks late",       // all but the first, from the third epoch on
      "ignores ranks first",      // all but the first, in the first step of each epoch
      "ignores ranks last",       // the same, in the last full step
      "ignores short batches",    // the same, in the last step
      "ignores hosts",            // all but the first
      "meets at free pace",       // all_reduce() in step()
      // Lies of the traits:
      "changes traits",           // after start()
      "changes traits later",     // in every fifth answer
      "impossible traits",        // no number of ranks
      // Lies beside the ranks and after the trial:
      "burns a core",             // a thread computes beside the ranks
      "leaves a thread",          // a thread sleeps after the trial
      "burns in a process",       // a process computes beside the ranks
      "burns uncounted",          // likewise, while SIGCHLD is ignored
      "leaves a process",         // a process sleeps after the trial
      "leaves a descriptor",      // a file stays open
      "leaves a variable",        // in the environment
      // Lies of the beginning, and of checkpoints:
      "starts ahead",             // start() changes the weights
      "warms up ahead",           // the training begins with the weights of the warm-up
      "save scales weights",      // of the training
      "unique no save",           // a momentum in a variable that all copies of the library share
      "static no save",           // a momentum in a static variable
      "no save",                  // has state, but no save() and restore()
      "saves on one host",        // but not on several
      "saves an address",         // of its state, in place of the state
      "restores once",            // the weights are wrong when the training is resumed again
      // Lies of settle():
      "settle scales weights",    // of the training, also on one rank
      "settle averages weights",  // of copies that train apart between averagings
      "settles within epochs",    // to other weights than those of the training
      "settle exchanges last",    // of an epoch, in place of the step
      "settle averages ahead",    // for the next step, which then exchanges nothing
      // Lies of the statistics of batch normalisation:
      "settle clears statistics", // of batch normalisation
      "settle averages statistics",
      "starts with statistics",   // of its own
      "restores statistics",      // of its own
      "scales statistics",        // in the callback of a pass
      "sums statistics",          // of the ranks, and does not divide
      "averages statistics",      // no lie
      "broadcasts statistics",    // no lie
      // In the call `where`:
      "crash", "deadlock",
  };
}

}  // namespace mgcompare::testing
