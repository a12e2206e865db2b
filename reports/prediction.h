#pragma once

// How fast rows would be on devices that this machine does not have: T(n) = work(b) + exchange(n, S) + waiting, from steps
// that were measured. Fitted without the largest count of devices, which is then predicted: that error is printed, and
// nothing is said of more devices where it is over 15 %. One held-out row may come out well by luck, so
// that the band of every prediction is the largest error among all that are trusted: no confidence interval, but an error that
// this model has made on this machine.

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
  std::optional<double> measured;               // speed-up, where such devices were measured over the same link
};

struct Prediction {
  std::string series;
  const Cell* largest = nullptr;                // the row that was held out
  std::string problem;                          // why there is no prediction; empty where there is one
  std::size_t fitted_rows = 0;                  // of the strategy, that the model beyond the machine was fitted on
  double hold_out_error = 0;                    // |predicted / measured - 1| of its step
  bool trusted = false;                         // no problem, and the error is small enough
  LinkModel link;
  std::vector<PredictedStep> steps;             // by devices: the measured counts, then those asked for; where
                                                // not trusted, the first over the measured link alone
};

// One a strategy, kind of device, way of scaling and batch that has rows on several devices. `links` are to stand in for
// those between devices of their kind. The model is checked on the link that was measured; where two devices were the most,
// nothing is known of it but a given one.
std::vector<Prediction> predict(const Comparison& comparison, const std::vector<std::size_t>& devices,
                                const std::map<DeviceKind, LinkModel>& links = {});
// Twice, four and eight times the most devices that were measured.
std::vector<std::size_t> usual_devices(const Comparison& comparison);

// A line a prediction and count of devices, and the sentences on those that there are none of, a sentence a reason.
Table prediction_table(const std::vector<Prediction>& predictions);
std::vector<std::string> prediction_problems(const std::vector<Prediction>& predictions);

}  // namespace mgcompare
