#include "cli/progress_display.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <string_view>

#include <fmt/core.h>

#include "base/environment_variable.h"
#include "base/number_text.h"
#include "base/print.h"
#include "base/text.h"
#include "process/message.h"

namespace mgcompare {
namespace {

constexpr std::size_t kBarCells = 20;
constexpr std::size_t kColumnsForBar = 2 * kBarCells;  // a narrower terminal shows the text only
constexpr std::chrono::milliseconds kRedraw{100};

// What tells the trials of a row apart.
std::string detail_of(const Trial& trial, bool has_seeds) {
  if (trial.bracket > 0) return " (bracket)";
  if (trial.control) return " (control)";
  if (trial.reference || trial.rehearsal) return "";  // its row says so
  return has_seeds ? fmt::format(" seed {}", trial.seed) : "";
}

}  // namespace

Terminal terminal_of(int descriptor, const std::string& color) {
  Terminal terminal;
  const bool is_terminal = isatty(descriptor) == 1;
  const bool is_dumb = environment_variable("TERM") == "dumb" || environment_variable("TERM").empty();
  terminal.live = is_terminal && !is_dumb;
  terminal.color = color == "always" || (color == "auto" && terminal.live && environment_variable("NO_COLOR").empty());
  std::setlocale(LC_CTYPE, "");
  terminal.utf8 = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  if (is_terminal) terminal.columns = columns_of(descriptor);
  return terminal;
}

std::size_t columns_of(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : Terminal().columns;
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0)) return "unknown";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

ProgressDisplay::ProgressDisplay(std::FILE* stream, const Terminal& terminal, bool quiet, const std::vector<Trial>& trials,
                                 const Estimate& estimate)
    : stream_(stream), terminal_(terminal), quiet_(quiet), total_(trials.size()) {
  for (const Trial& trial : trials) {
    const std::string row = row_name(trial);
    if (++rest_[row] == 1) guessed_[row] = trial.unavailable.empty() ? estimate(trial) : 0;
    has_seeds_ |= trial.seed != trials.front().seed;
  }
}

ProgressDisplay::~ProgressDisplay() { clear(); }

void ProgressDisplay::begin(const Trial& trial) {
  ++number_;
  const std::string row = row_name(trial);
  if (rest_[row] > 0) --rest_[row];
  name_ = plain(row + detail_of(trial, has_seeds_));
  global_batch_ = trial.global_batch;
  now_ = Progress();
  trial_begin_ = Clock::now();
  guessed_now_ = guess(row);
  guessed_rest_ = 0;
  for (const auto& [other, count] : rest_) guessed_rest_ += static_cast<double>(count) * guess(other);
  draw();
}

void ProgressDisplay::update(const Progress& progress) {
  const auto now = Clock::now();
  if (progress.phase == TrialPhase::training && (now_.phase != TrialPhase::training || now_.epoch != progress.epoch)) {
    epoch_begin_ = now;
    epoch_begin_step_ = progress.step;
  }
  now_ = progress;
  if (now - drawn_ >= kRedraw) draw();
}

void ProgressDisplay::end(const Trial& trial, const Result& result) {
  clear();
  const double seconds = std::chrono::duration<double>(Clock::now() - trial_begin_).count();
  const bool trained = result.status == TrialStatus::done || result.status == TrialStatus::diverged;
  if (trained) {
    guessed_done_ += guessed_[row_name(trial)];
    taken_done_ += seconds;
    taken_[row_name(trial)] = seconds;
  }
  if (quiet_) return;
  std::string text = fmt::format("[{:>{}}/{}] {}: ", number_, std::to_string(total_).size(), total_, name_);
  if (result.status == TrialStatus::done && trial.rehearsal) {
    text += duration_text(seconds);
  } else if (result.status == TrialStatus::done) {
    text += fmt::format("{:.2f} %, {} samples/s, {}", 100 * result.accuracy, thousands(result.samples_per_second),
                        duration_text(seconds));
  } else {
    text += fmt::format("{}{}{}", terminal_.color ? "\x1b[31m" : "", to_string(result.status), terminal_.color ? "\x1b[0m" : "");
    if (!result.cause.empty()) text += fmt::format(" ({})", result.cause);
  }
  print_to(stream_, "{}\n", text);
  std::fflush(stream_);
}

double ProgressDisplay::share_done() const {
  if (now_.epochs == 0 || now_.steps == 0 || now_.phase == TrialPhase::setup || now_.phase == TrialPhase::warm_up) return 0;
  // Epochs are counted from 0 here; evaluation comes after the last step of its epoch.
  const double in_epoch = static_cast<double>(now_.step) / static_cast<double>(now_.steps);
  return std::clamp((static_cast<double>(now_.epoch) + in_epoch) / static_cast<double>(now_.epochs), 0.0, 1.0);
}

double ProgressDisplay::guess(const std::string& row) const {
  if (const auto known = taken_.find(row); known != taken_.end()) return known->second;
  const auto guessed = guessed_.find(row);
  // Scale the estimate by its error so far.
  return guessed == guessed_.end() ? 0 : guessed->second * (guessed_done_ > 0 ? taken_done_ / guessed_done_ : 1);
}

double ProgressDisplay::seconds_left() const {
  const double running = std::chrono::duration<double>(Clock::now() - trial_begin_).count();
  const double share = share_done();
  return guessed_rest_ + (share > 0.05 ? running * (1 - share) / share : std::max(0.0, guessed_now_ - running));
}

std::string ProgressDisplay::bar() const {
  const double share = (static_cast<double>(number_ - 1) + share_done()) / static_cast<double>(std::max<std::size_t>(1, total_));
  const auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * kBarCells);
  std::string text;
  for (std::size_t i = 0; i < kBarCells; ++i) {
    text += terminal_.utf8 ? (i < full ? "█" : "░") : (i < full ? "#" : ".");
  }
  return text;
}

void ProgressDisplay::draw() {
  if (!terminal_.live || quiet_) return;
  drawn_ = Clock::now();
  // A narrow terminal cuts off the end: the most important parts come first.
  std::string text = fmt::format(" {}/{}, {} left: {}", number_, total_, duration_text(seconds_left()), name_);
  if (now_.phase == TrialPhase::training) {
    text += fmt::format(", epoch {}/{}", now_.epoch + 1, now_.epochs);
    const double seconds = std::chrono::duration<double>(drawn_ - epoch_begin_).count();
    if (now_.step > epoch_begin_step_ && seconds > 0.05) {
      text += fmt::format(", {} samples/s",
                          thousands(static_cast<double>((now_.step - epoch_begin_step_) * global_batch_) / seconds));
    }
  } else if (now_.phase != TrialPhase::none) {
    text += fmt::format(", {}", to_string(now_.phase));
  }
  if (!terminal_.utf8) text = ascii(text);
  // The user may have changed the terminal's width.
  if (isatty(fileno(stream_)) == 1) terminal_.columns = columns_of(fileno(stream_));
  // A wrapped line cannot be redrawn. The last column stays free because some terminals wrap there.
  const bool has_bar = terminal_.columns >= kColumnsForBar;
  const std::size_t room = terminal_.columns - 1 - (has_bar ? kBarCells : 0);
  print_to(stream_, "\r\x1b[K{}{}", has_bar ? bar() : "", fitting(text, room));
  std::fflush(stream_);
  is_drawn_ = true;
}

void ProgressDisplay::clear() {
  if (is_drawn_) print_to(stream_, "\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace mgcompare
