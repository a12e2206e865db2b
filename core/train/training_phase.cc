#include "train/training_phase.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace mgcompare {
namespace {

using enum TrainingPhase;

constexpr std::pair<TrainingPhase, TrainingPhase> kTransitions[] = {
    {setup, warm_up},          // first the strategies of the warm-up
    {setup, start},            // then those of the trial
    {warm_up, capture},
    {capture, warm_up},
    {warm_up, warm_up_end},
    {warm_up_end, setup},
    {start, epoch},
    {start, teardown},         // no epoch is left to train
    {epoch, evaluation},
    {evaluation, epoch},
    {evaluation, checkpoint},
    {evaluation, teardown},
    {checkpoint, epoch},
    {checkpoint, teardown},
};

}  // namespace

std::string_view to_string(TrainingPhase phase) {
  switch (phase) {
    case setup: return "setup";
    case warm_up: return "warm-up";
    case capture: return "capture";
    case warm_up_end: return "end of warm-up";
    case start: return "start";
    case epoch: return "epoch";
    case evaluation: return "evaluation";
    case checkpoint: return "checkpoint";
    case teardown: break;
  }
  return "teardown";
}

TrialPhase reported(TrainingPhase phase) {
  switch (phase) {
    case setup:
    case start: return TrialPhase::setup;
    case warm_up:
    case capture:
    case warm_up_end: return TrialPhase::warm_up;
    case epoch: return TrialPhase::training;
    case evaluation: return TrialPhase::evaluation;
    case checkpoint: return TrialPhase::checkpoint;
    case teardown: break;
  }
  return TrialPhase::teardown;
}

bool may_follow(TrainingPhase from, TrainingPhase to) {
  return std::find(std::begin(kTransitions), std::end(kTransitions), std::pair(from, to)) != std::end(kTransitions);
}

PhaseBarrier::PhaseBarrier(std::size_t ranks, std::function<void(TrainingPhase)> entered)
    : barrier_(ranks), entered_(std::move(entered)), phases_(ranks, setup) {}

void PhaseBarrier::enter(TrainingPhase next, std::size_t rank) {
  if (!may_follow(phases_[rank], next))
    throw std::logic_error(
        fmt::format("rank {} cannot go from phase '{}' to phase '{}'", rank, to_string(phases_[rank]), to_string(next)));
  arrive(next, rank);
  phases_[rank] = next;
}

void PhaseBarrier::wait(std::size_t rank) { arrive(phases_[rank], rank); }

// No rank arrives at the next rendezvous before all have passed the check of this one: the barrier lies between.
void PhaseBarrier::arrive(TrainingPhase next, std::size_t rank) {
  {
    const std::lock_guard lock(mutex_);
    if (arrived_ == 0) expected_ = next;
    if (next != expected_)
      throw std::logic_error(fmt::format("rank {} waits in phase '{}' while other ranks wait in phase '{}'", rank,
                                         to_string(next), to_string(expected_)));
    arrived_ = (arrived_ + 1) % phases_.size();
    if (arrived_ == 0 && next != phases_[rank] && entered_) entered_(next);
  }
  barrier_.wait();
}

}  // namespace mgcompare
