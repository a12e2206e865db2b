#pragma once

// Predicts the step time on more devices than this machine has: T(n) = work(b) + exchange(n, S) + waiting, fitted on measured
// steps. The model is first fitted without the largest number of devices and checked on it. This error is printed; above 15 %
// there is no prediction. Because one held-out row may fit by chance, the band of all predictions is the largest error of the
// trusted ones. It is not a confidence interval.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/comparison.h"
#include "reports/link_model.h"
#include "reports/tables.h"

namespace mgcompare {

inline constexpr double kWorstHoldOut = 0.15;

struct PredictedStep {
  std::size_t devices = 0;
  double step = 0, low = 0, high = 0;           // seconds
  double speed_up = 0, speed_up_low = 0, speed_up_high = 0;
  std::optional<double> measured;               // speed-up, if it was measured over the same link
};

struct Prediction {
  std::string series;
  const Cell* largest = nullptr;                // the held-out row
  std::string problem;                          // why there is no prediction; empty: there is one
  std::size_t fitted_rows = 0;                  // rows of the strategy in the final fit
  bool is_rehearsed = false;                    // from rehearsals; otherwise from a fit of the rows
  std::optional<double> hold_out_error;         // |predicted / measured - 1| of the held-out step time; none: nothing on several devices was measured
  bool trusted = false;                         // no problem, and the error is at most kWorstHoldOut
  std::vector<std::size_t> missing;             // numbers of devices that were asked for and not rehearsed, without those of `refused`
  std::map<std::string, std::vector<std::size_t>> refused;  // numbers of devices that were asked for and could not be rehearsed, by cause
  LinkModel link;
  std::vector<PredictedStep> steps;             // by devices: the measured and the requested numbers; if not trusted
                                                // only the measured ones, over the measured link
};

// One prediction for each strategy, kind of device, scaling and batch with rows on several devices. `links` replace the
// measured links, by kind of device. The model is checked with the measured link; if at most two devices were measured, with
// the given one. The predictions point into the comparison.
std::vector<Prediction> predict(const Comparison& comparison, const std::vector<std::size_t>& devices,
                                const std::map<DeviceKind, LinkModel>& links = {});
// Two, four and eight times the largest measured number of devices.
std::vector<std::size_t> usual_devices(const Comparison& comparison);

// One line for each prediction and number of devices; and sentences on the missing predictions, one for each reason.
Table prediction_table(const std::vector<Prediction>& predictions);
std::vector<std::string> prediction_problems(const std::vector<Prediction>& predictions);

}  // namespace mgcompare
