#pragma once

// The options of the parameter server, checked.

#include <cstdint>
#include <string>

#include "rules.h"
#include "server.h"

namespace async_sgd {

constexpr std::int64_t kMostStripes = 128;  // above the number of ranks; a group distinguishes 256

struct Settings {
  Settings(Options& options, const Facts& facts) : ranks(static_cast<std::uint64_t>(facts.ranks)) {
    needs.on_device = options.choice("server", "host", "where the weights are: host memory, or rank 0's device",
                                     {"host", "device"}) == "device";
    on_hosts = facts.hosts > 1;
    if (on_hosts && !needs.on_device) {
      one_host = options.given("server");
      needs.on_device = !one_host;
    }
    const std::string rule = options.choice(
        "rule", "downpour", "an update per gradient; unlocked additions to shared weights; or one per ranks / n gradients",
        {"downpour", "hogwild", "softsync"});
    hogwild = rule == "hogwild";
    read_update(options, facts, rule == "softsync");
    read_staleness(options);
    read_momentum(options, facts, rule == "softsync");
    read_lock(options, facts);
    read_periods(options, facts);
  }

  std::uint64_t ranks;
  Needs needs;
  bool hogwild = false;
  bool aware = false, bounded = false;  // staleness
  bool unlocked = false;
  bool on_hosts = false;                // several, where the server is on rank 0's device
  bool one_host = false;                // the options need the memory of one, and there are several
  std::uint64_t per_update = 1;         // gradients
  std::uint64_t bound = 0, drop_above = 0;
  double rate = 1, compensation = 0;
  std::size_t stripes = 1, push_every = 1, pull_every = 1;

 private:
  void read_update(Options& options, const Facts& facts, bool softsync) {
    const std::int64_t n = options.integer("n", 1, "softsync: updates per ranks gradients; 1 is nearest to lockstep", 1);
    rate = options.number("rate", 1, "the server's learning rate over the experiment's", 1e-6, 1e6);
    compensation = options.number("delay_compensation", 0,
                                  "DC-ASGD's lambda: corrects old gradients by their square; 0: not", 0, 1e6);
    needs.mean_square = options.choice("compensation", "constant",
                                       "lambda as it is, or over the root of the gradients' mean square, element by element",
                                       {"constant", "adaptive"}) == "adaptive" && compensation > 0;
    if (compensation == 0 && options.given("compensation")) options.refuse("compensation", "goes with a delay_compensation above 0");
    if (!softsync && options.given("n")) options.refuse("n", "goes with rule: softsync");
    // On one rank an update has one gradient whatever n is, so that the same options also run on one device.
    if (softsync && facts.ranks > 1 && n > facts.ranks)
      options.refuse("n", "is " + std::to_string(n) + " and there are " + std::to_string(facts.ranks) +
                              " ranks; an update has at least one gradient, so n is 1 to " + std::to_string(facts.ranks));
    if (hogwild && compensation > 0) options.refuse("delay_compensation", "does not go with rule: hogwild, whose ranks push changes of weights");
    per_update = softsync ? gradients_per_update(ranks, static_cast<std::uint64_t>(n)) : 1;
    needs.sum = per_update > 1;
    needs.optimizer = !hogwild;
  }

  void read_staleness(Options& options) {
    const std::string staleness = options.choice(
        "staleness", "aware", "old gradients: as they are, at rate / staleness, or none older than a bound lets be",
        {"none", "aware", "bounded"});
    aware = staleness == "aware";
    bounded = staleness == "bounded";
    bound = static_cast<std::uint64_t>(options.integer(
        "bound", 1, "bounded: steps that a rank may be ahead of the slowest; 0 is lockstep", 0, 1 << 20));
    drop_above = static_cast<std::uint64_t>(
        options.integer("drop_above", 0, "drops gradients that are staler than this; 0: none", 0, 1 << 20));
    if (!bounded && options.given("bound")) options.refuse("bound", "goes with staleness: bounded");
  }

  // Momentum amplifies the oscillation that stale gradients cause. Along a direction of curvature h, sgd with momentum m is
  // stable at rates below 2 (1 + m) / h without staleness, and below (1 - m) / h at a staleness of 1: for m = 0.9 that is
  // 38 times less. So the default for several ranks is no momentum.
  void read_momentum(Options& options, const Facts& facts, bool softsync) {
    const std::string momentum = options.choice(
        "momentum", "auto", "of sgd: one at the server, one for each rank's gradients, none; auto: none with several ranks",
        {"auto", "server", "worker", "none"});
    needs.plain = momentum == "none" || (momentum == "auto" && facts.ranks > 1);
    needs.own_optimizer = momentum == "worker";
    if (softsync && momentum == "worker")
      options.refuse("momentum", "worker does not go with rule: softsync, which adds the ranks' gradients; use server or none");
    if (hogwild && momentum == "server")
      options.refuse("momentum", "server does not go with rule: hogwild, whose server only adds; use worker or none");
    if (needs.on_device && !hogwild && facts.optimizer == "adam" && momentum != "worker" && facts.ranks > 1) {
      if (on_hosts && !options.given("server")) one_host = true;
      else options.refuse("server", "device does not go with adam, whose count of updates each device has for itself; use server: host, or momentum: worker");
    }
  }

  // Stripes let ranks work on the host's copy in parallel. On a device the work is short, and each stripe costs a
  // synchronisation, so one lock is faster.
  void read_lock(Options& options, const Facts& facts) {
    const std::int64_t locks =
        options.integer("stripes", 16, "lock: striped: parts of the model with a lock each", 1, kMostStripes);
    std::string lock = options.choice("lock", "auto", "one for the model, one for each stripe of it, none; auto: what suits the rest",
                                      {"auto", "global", "striped", "none"});
    if (lock == "none" && !hogwild) options.refuse("lock", "none goes with rule: hogwild; other rules read before they write");
    if (lock == "striped" && facts.optimizer == "adam" && !hogwild)
      options.refuse("lock", "striped does not go with adam, which counts updates of the whole model; use global");
    if (lock == "auto")
      lock = hogwild ? "none" : needs.on_device || facts.optimizer == "adam" ? "global" : "striped";
    unlocked = lock == "none" && hogwild;
    if (unlocked && facts.ordered)
      options.refuse(options.given("lock") ? "lock" : "rule",
                     "without locks there is no order that virtual time could decide or a replay repeat; use lock: global or striped");
    if (unlocked && drop_above > 0) options.refuse("drop_above", "does not go with lock: none");
    needs.atomic = unlocked;
    one_host = one_host || (on_hosts && unlocked);
    stripes = lock == "striped" ? static_cast<std::size_t>(locks) : 1;
    if (lock != "striped" && options.given("stripes")) options.refuse("stripes", "goes with lock: striped");
  }

  void read_periods(Options& options, const Facts& facts) {
    push_every = static_cast<std::size_t>(options.integer("push_every", 1, "steps whose gradients are pushed as one sum", 1, 1 << 20));
    pull_every = static_cast<std::size_t>(
        options.integer("pull_every", 1, "steps from one pull to the next; in between a rank moves its own copy", 1, 1 << 20));
    if (hogwild && push_every > 1) options.refuse("push_every", "does not go with rule: hogwild");
    if (hogwild && pull_every > 1) options.refuse("pull_every", "does not go with rule: hogwild");
    if (pull_every > 1 && facts.optimizer != "sgd")
      options.refuse("pull_every", "needs optimizer sgd: between pulls a rank moves its own copy by plain sgd");
  }
};

}  // namespace async_sgd
