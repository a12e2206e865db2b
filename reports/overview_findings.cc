#include "reports/overview_findings.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "reports/device_kinds.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

// All trials, and the finished ones.
std::pair<std::size_t, std::size_t> counts_of(const Overview& overview) {
  std::size_t trials = 0, finished = 0;
  for (const Comparison& part : overview.parts) {
    trials += part.trials;
    finished += part.finished;
  }
  return {trials, finished};
}

}  // namespace

std::vector<Finding> reservations(const Overview& overview) {
  std::vector<Finding> all;
  for (const std::string& warning : overview.warnings) all.push_back({warning});
  for (const Comparison* part : overview.runs()) {
    const Run& run = *part->run;
    const std::string where = overview.has_runs() ? fmt::format("{}: ", plain(part->infrastructure)) : "";
    if (!run.info.data_remark.empty()) all.push_back({where + plain(run.info.data_remark)});
    if (run.info.data_name == "digits")
      all.push_back({where + "The data are built-in drawn digits, not MNIST: accuracies cannot be compared with published ones"});
    if (!run.rows.empty() && run.rows.front().config->cut_down_for_cpu)
      all.push_back({where + "The experiment was reduced for a machine without a GPU, by its `when_cpu:` block"});
  }
  const auto [trials, finished] = counts_of(overview);
  if (finished < trials) all.push_back({fmt::format("{} of {} trials have not finished: --resume runs them", trials - finished, trials)});
  return all;
}

std::string partial_text(const Overview& overview) {
  const auto [trials, finished] = counts_of(overview);
  if (finished == trials) return "";
  if (finished == 0) return fmt::format("Partial: none of the {} trials has finished.", trials);
  return fmt::format("Partial: {} of {} trials have not finished. The results below are of the finished trials.", trials - finished, trials);
}

std::vector<Finding> findings(const Overview& overview) {
  std::vector<Finding> all;
  // First, because a taint makes all figures doubtful.
  for (const std::string& taint : taints_of(overview)) all.push_back({fmt::format("TAINTED: {}", taint)});
  for (const Comparison& comparison : overview.parts) {
    if (const std::string title = overview.title_of(comparison); !title.empty()) all.push_back({title, 0, true});
    const std::vector<Finding> part = part_findings(comparison);
    all.insert(all.end(), part.begin(), part.end());
  }
  std::vector<Finding> last = reservations(overview);
  for (const std::string& sentence : device_sentences(overview)) last.insert(last.begin(), {sentence});
  if (overview.parts.size() > 1 && !last.empty()) all.push_back({"All together", 0, true});
  all.insert(all.end(), last.begin(), last.end());
  return all;
}

std::vector<std::string> taints_of(const Overview& overview) {
  std::vector<std::string> all;
  for (const Comparison* part : overview.runs())
    for (const std::string& taint : part->run->info.taints)
      all.push_back(plain(overview.has_runs() ? fmt::format("{}: {}", part->infrastructure, taint) : taint));
  return all;
}

std::vector<std::string> notes_of(const Overview& overview) {
  std::vector<std::string> all;
  for (const Comparison* part : overview.runs())
    for (const std::string& warning : part->run->info.warnings)
      all.push_back(overview.has_runs() ? fmt::format("{}: {}", part->infrastructure, warning) : warning);
  for (const Comparison& part : overview.parts) {
    const std::string title = overview.title_of(part);
    for (const Cell& cell : part.cells) {
      std::set<std::string> seen;
      for (const Row* row : cell.done)
        for (const std::string& note : row->result.notes)
          if (seen.insert(note).second) all.push_back(fmt::format("{}{}: {}", title.empty() ? "" : title + ": ", title_of(cell), note));
    }
  }
  return all;
}

}  // namespace mgcompare
