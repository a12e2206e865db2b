#include "cli/until_decided.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/print.h"
#include "cli/run_command.h"
#include "plan/further_block.h"
#include "process/signals.h"
#include "reports/further_repeats.h"
#include "reports/overview.h"

namespace mgcompare {
namespace {

// The number of the last block of the run; further ones follow those of the plan without a gap.
int last_block(const Plan& plan, const ResultsStore& results) {
  const std::set<int> blocks = results.blocks();
  int last = static_cast<int>(plan.config.seeds.size());
  while (blocks.contains(last + 1)) ++last;
  return last;
}

// What a block takes: each row as long as its longest repeat so far.
double seconds_of(const std::vector<Trial>& block, const Run& run) {
  std::map<std::string, double> seconds;
  for (const Row& row : run.rows) {
    double& longest = seconds[row_name(row.trial)];
    if (row.state == RowState::finished) longest = std::max(longest, total_seconds(row.result) + row.result.seconds_worker_start);
  }
  double sum = 0;
  for (const Trial& trial : block) sum += seconds[row_name(trial)];
  return sum;
}

std::size_t done_repeats(const Run& run) {
  return static_cast<std::size_t>(std::count_if(run.rows.begin(), run.rows.end(), [](const Row& row) {
    return row.trial.is_repeat() && row.state == RowState::finished && row.result.status == TrialStatus::done;
  }));
}

// What the report says of the answers that are open.
std::string estimates(const Overview& overview) {
  std::string text;
  for (const Comparison& part : overview.parts) {
    const std::string sentence = further_repeats_text(part), title = overview.title_of(part);
    if (!sentence.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : "\n", title.empty() ? "" : title + ": ", sentence);
  }
  return text;
}

}  // namespace

Plan with_further_blocks(Plan plan, const ResultsStore& results) {
  const Plan planned = plan;
  const int last = last_block(plan, results);
  for (int block = static_cast<int>(plan.config.seeds.size()) + 1; block <= last; ++block)
    for (Trial& trial : further_block(planned, block)) plan.trials.push_back(std::move(trial));
  return plan;
}

void run_until_decided(ResultsStore& results, const Plan& plan, const std::string& data_fingerprint, const Command& command,
                       const std::function<void(const Trial&, ProgressDisplay&)>& run_trial) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto say = [&](const std::string& text) {
    if (!command.quiet) print_stderr("{}\n", text);
  };
  while (interruption() == 0) {
    const Run run = results.read();
    const Overview overview = overview_of(run);
    if (!needs_repeats(overview)) {
      say("no further repeats: " + no_repeats_text(overview));
      return;
    }
    const int number = last_block(plan, results) + 1;
    std::vector<Trial> block = further_block(plan, number);
    const double left = 60 * *command.until_decided - std::chrono::duration<double>(Clock::now() - begin).count(), seconds = seconds_of(block, run);
    say(estimates(overview));
    if (seconds > left) {
      say(fmt::format("no further repeats: block {} would take {}, and {} of --until-decided are left", number, duration_text(seconds),
                      duration_text(std::max(0.0, left))));
      return;
    }
    for (Trial& trial : block) trial.data_fingerprint = data_fingerprint;
    results.extend(block);
    say(fmt::format("block {}: one more repeat of each row, with seed {}; about {}", number, block.front().seed, duration_text(seconds)));
    ProgressDisplay display = make_display(plan, block, command);
    for (const Trial& trial : block) {
      if (interruption() != 0) return;
      run_trial(trial, display);
    }
    if (done_repeats(results.read()) == done_repeats(run)) {
      say("no further repeats: none of the last block was completed");
      return;
    }
  }
}

}  // namespace mgcompare
