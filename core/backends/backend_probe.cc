#include "backends/backend_probe.h"

#include <filesystem>

#include <fmt/format.h>

#include "backends/backend_process.h"
#include "backends/description.h"
#include "base/text.h"
#include "mgcompare/error.h"
#include "results/cause.h"

namespace mgcompare {
namespace {

constexpr double kEndSeconds = 10;

StrategySummary ask(const ProbeQuestion& question, const std::string& folder, const std::function<bool()>& stop) {
  const Manifest manifest = read_manifest(question.plugin_file);
  BackendProcess process(manifest, {question.python, folder});
  process.send(describe_request(1, question.strategy.options));
  const nlohmann::json body = process.receive("description", {kDescribeSeconds, [&] {
                                                                if (stop()) throw Interrupted();
                                                              }});
  try {
    const StrategySummary summary = summary_of(description_in(body, manifest.name), question.strategy.options);
    process.finish(kEndSeconds);
    return summary;
  } catch (const WrongMessage& wrong) {
    throw Error(fmt::format("the backend {} {}", manifest.name, wrong.what()));
  }
}

}  // namespace

StrategySummary probe_backend(const ProbeQuestion& question, const std::string& scratch, const std::function<bool()>& stop) {
  const std::filesystem::path folder = std::filesystem::path(scratch) / "probe";
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::filesystem::create_directories(folder, ignored);
  StrategySummary summary;
  try {
    summary = ask(question, folder.string(), stop);
  } catch (const Interrupted&) {
    throw;
  } catch (const EndedAs& end) {
    // One that ends with an exit code, as without a module, lacks something here. What crashes or blocks is broken.
    const bool is_broken = end.status() == TrialStatus::crashed || end.status() == TrialStatus::timeout || end.status() == TrialStatus::out_of_memory;
    (is_broken ? summary.crash : summary.backend.unavailable) = shortened(end.what());
  } catch (const std::exception& error) {
    summary.backend.unavailable = shortened(error.what());
  }
  std::filesystem::remove_all(folder, ignored);
  return summary;
}

}  // namespace mgcompare
