#pragma once

// Checks that a backend trains what the program trains: some steps, and hundreds, in fp32 on a smooth network, whose weights are compared
// with those of one device. For workers only.

#include <functional>
#include <string>

#include "check/trainings.h"
#include "check/verify_scope.h"

namespace mgcompare {

// How far the weights of a backend may be from the program's after kBackendSteps steps, and after kLongBackendSteps or more. Other libraries
// sum in other orders.
inline constexpr double kBackendLimit = 1e-3;
inline constexpr std::size_t kBackendSteps = 20, kLongBackendSteps = 300;

struct BackendVerification {
  const Config& config;
  const Dataset& dataset;
  Platform& platform;
  const VerifyScope& scope;
  const StrategyConfig& strategy;   // the row
  std::string manifest;
  std::string folder;               // for files
  std::function<bool()> stop;
};

// With each optimiser of the scope and each number of devices that the backend supports; the hundreds of steps with the first optimiser and the
// largest number, and only if the backend has the layers of the smooth network. What it does not support is skipped.
void verify_backend(const BackendVerification& of, const VerifyListener& listener);

}  // namespace mgcompare
