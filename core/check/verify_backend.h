#pragma once

// Checks that a backend trains what the program trains, in fp32: on a smooth network some steps, hundreds, some with the config's batches, and its
// schedule; one step on the network as it is. Its weights, statistics and losses after each epoch are compared with those of one device. For workers
// only.

#include <functional>
#include <string>

#include "check/trainings.h"
#include "check/verify_scope.h"

namespace mgcompare {

// How far the weights of a backend may be from the program's in kBackendSteps steps, and in kLongBackendSteps or more. Other libraries
// sum in other orders.
inline constexpr double kBackendLimit = 1e-3;
inline constexpr std::size_t kBackendSteps = 20, kLongBackendSteps = 300;

struct BackendVerification {
  const Config& config;
  const Dataset& dataset;           // all training samples; the scope says how many most trainings have
  Platform& platform;
  const VerifyScope& scope;
  const StrategyConfig& strategy;   // the row
  std::string manifest;
  std::string folder;               // for files
  bool quick = false;               // fewer and smaller batches of the config
  std::function<bool()> stop;
};

// With each optimiser of the scope and each number of devices that the backend supports, which is at least one of several devices where it
// supports them and the platform has them. With the largest number only: the config's batches with its
// optimiser, and hundreds of steps with that and the first one, if the backend has the layers of the smooth network. What it does not support is
// skipped.
void verify_backend(const BackendVerification& of, const VerifyListener& listener);

}  // namespace mgcompare
