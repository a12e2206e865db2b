#pragma once

// Reasons why the figures of a row are not what they seem. All formats show them.

#include <string>
#include <string_view>
#include <vector>

#include "reports/promise.h"
#include "results/results_store.h"

namespace mgcompare {

enum class MarkKind {
  broken_promise,                   // exact, but weights, loss or statistics of batch normalisation depart from the baseline's
  sent_nothing,                     // several ranks end with one model, but no bytes were counted
  ceiling_sent,                     // a ceiling, which is the bound of speed without exchange, sent bytes
  other_clock,                      // a backend: its own clock disagrees with the program's
  works_unclocked,                  // a backend: takes long outside of the interval that it calls training
  sent_too_little,                  // the same and exact, and fewer bytes than that takes (plan/least_bytes.h)
  other_samples,                    // trained more or fewer samples than the data set has, or some in place of others
  ignored_samples,                  // some samples had no backward pass, or nothing read their gradient
  same_weights,                     // every epoch ends with the same weights
  other_statistics,                 // passes of samples that it did not learn from changed statistics of batch normalisation
  stood_still,                      // the worker was stopped during the training
  too_short,                        // the training is too short to measure its speed
  changed_settings,                 // its threads ran under other conditions than those of other rows
  lost_processors,                  // its ranks did not get the processor time that their work took
  busy_threads,                     // threads that are not ranks, or processes, used much processor time
  ranks_apart,                      // one model, but the ranks end an epoch with different weights
  moved_by_settle,                  // settle() changed the live weights
  other_losses,                     // its training loss and accuracy include losses that it computed beside those of its passes
  unchecked_promise,                // exact, but there was nothing to compare it with
};

struct Mark {
  MarkKind kind;
  std::string text;                 // "breaks its promise in epoch 1"
};

// Whether a row with such a mark is never the best of anything. All but lost_processors, busy_threads, other_losses and unchecked_promise.
bool disqualifies(MarkKind kind);
// What to do about it, as a phrase; never empty for a mark that disqualifies.
std::string remedy_of(MarkKind kind);

// A preempted thread may lose a time slice, some 4 ms: in shorter trainings that is a fifth of the figure or more. Repeats show
// smaller errors. The first steps of a training take longer than the others.
inline constexpr double kLeastSeconds = 0.02;
inline constexpr std::size_t kLeastSteps = 10;
// A stop is noticed only if it lasts a second; a longer training is measured well enough in spite of it.
inline constexpr double kStandstillShare = 0.01;
// Processor time of other threads over the training clock, in processors. On GPUs for each device, because NCCL and the driver
// have threads for each: 0.06 in all on two GPUs. On CPUs of the whole row: ranks have no helpers, and one busy thread is one
// device more, however many devices there are. On a busy CPU no thread gets a whole processor, so there also relative to the ranks'
// own processor time, as in `verify`; less than the seconds below is too little to tell.
inline constexpr double kBusyThreads = 0.2, kBusyShare = 0.1, kLeastBusySeconds = 0.01;

// The share of the time of passes and updates in which the ranks' threads on CPUs may have had no processor: more than an idle machine loses to
// the kernel and to other programs. In shorter trainings a few time slices would be as much.
inline constexpr double kLostShare = 0.1, kLeastLostSeconds = 0.1;

// By how much the clock of a backend may differ from the program's: a share of an epoch, and seconds by which messages are late. One
// message may be late by a time slice on a busy machine; at the lower quartile of three epochs or more it was late by less than 0.6 ms there, and
// by 0.2 ms beside GPUs.
inline constexpr double kClockShare = 0.05, kClockSeconds = 0.02, kUsualClockSeconds = 0.001;
inline constexpr std::size_t kLeastClockEpochs = 3;
// How long a backend may work on an epoch outside of the training: it reads the order and writes the weights; while they are evaluated its
// processor time counts. More is a mark if it is also
// more than this share of the training. On two H100, PyTorch and JAX took 3 to 21 ms with networks of up to 10 MB.
inline constexpr double kUnclockedShare = 0.1, kUnclockedSeconds = 0.05, kUnclockedBytesPerSecond = 200e6;

// Of a trial; none unless it is done.
std::vector<Mark> marks_of(const Row& row, const PromiseCheck& promise);

// "promise broken in epoch 1; sent nothing"
std::string marks_text(const std::vector<Mark>& marks);
bool is_marked(const std::vector<Mark>& marks, MarkKind kind);
bool is_disqualified(const std::vector<Mark>& marks);

}  // namespace mgcompare
