#pragma once

// Progress on stderr while trials run: a bar on a terminal, and one line for each finished trial.

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "results/result.h"
#include "results/trial_progress.h"
#include "plan/trial.h"

namespace mgcompare {

// Properties of an output stream.
struct Terminal {
  bool live = false;                // a line can be redrawn
  bool color = false;
  bool utf8 = false;
  std::size_t columns = 80;
};

// `color`: auto, always or never. Respects NO_COLOR, TERM=dumb and the locale.
Terminal terminal_of(int descriptor, const std::string& color);

// Columns of the terminal; 80 if the stream is none.
std::size_t columns_of(int descriptor);

// "0.4 s", "42 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

class ProgressDisplay {
 public:
  using Estimate = std::function<double(const Trial&)>;  // rough, in seconds
  ProgressDisplay(std::FILE* stream, const Terminal& terminal, bool quiet, const std::vector<Trial>& trials,
                  const Estimate& estimate);
  ~ProgressDisplay();

  void begin(const Trial& trial);
  void update(const Progress& progress);
  void end(const Trial& trial, const Result& result);

 private:
  using Clock = std::chrono::steady_clock;
  double guess(const std::string& row) const;
  double seconds_left() const;
  double share_done() const;        // of the running trial
  std::string bar() const;
  void draw();
  void clear();

  std::FILE* stream_;
  Terminal terminal_;
  bool quiet_;
  bool has_seeds_ = false;          // not all trials have the same seed
  std::map<std::string, std::size_t> rest_;  // trials not yet begun, by row_name()
  std::size_t total_, number_ = 0;
  std::string name_;
  std::size_t global_batch_ = 0;
  Progress now_;
  Clock::time_point trial_begin_, epoch_begin_, drawn_;
  std::size_t epoch_begin_step_ = 0;
  std::map<std::string, double> guessed_, taken_;  // seconds by row_name(): repeats are assumed to take equally long
  double guessed_done_ = 0, taken_done_ = 0;       // sums over the finished trials
  double guessed_now_ = 0, guessed_rest_ = 0;
  bool is_drawn_ = false;
};

}  // namespace mgcompare
