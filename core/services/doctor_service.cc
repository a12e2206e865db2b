#include "services/doctor_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/shortage.h"
#include "base/text.h"
#include "mgcompare/error.h"
#include "check/doctor.h"
#include "check/test_pattern.h"
#include "modules/platform_host.h"

namespace mgcompare {
namespace {

constexpr int kDoctorAttempts = 3;         // for a shortage of descriptors or processes to pass
constexpr std::chrono::milliseconds kDoctorPause{200};
constexpr double kDoctorSeconds = 60;  // time limit of each step; a copy over a broken link may hang

nlohmann::json answer_links(const nlohmann::json& body, RequestContext& context) {
  DoctorScope scope;
  scope.devices = body.at("devices").get<std::size_t>();
  scope.ids = body.at("ids").get<std::vector<int>>();
  scope.groups = body.at("groups").get<std::vector<std::size_t>>();
  scope.brief = body.at("brief").get<bool>();
  scope.calls = body.at("calls").get<std::vector<std::string>>();
  return measure_links(platform(device_kind(body.at("kind").get<std::string>())), scope, [&](const std::string& what) {
    context.note({{"step", what}});
  });
}

// Allocates memory on the device, copies data there and back, and compares them.
void check_copies(Platform& platform, int index) {
  static std::atomic<std::uint32_t> uses = 0;
  const std::uint32_t use = ++uses;
  const std::unique_ptr<Device> device = platform.open(index);
  constexpr std::size_t kWords = 1024;
  const Array<std::uint32_t> memory = device_array<std::uint32_t>(*device, kWords);
  const Array<std::uint32_t> host = host_array<std::uint32_t>(*device, kWords);
  fill_with_pattern(host.data(), kWords, use);
  device->copy_to_device(memory.data(), host.data(), kWords * sizeof(std::uint32_t));
  device->synchronize();
  std::fill_n(host.data(), kWords, 0u);
  device->copy_to_host(host.data(), memory.data(), kWords * sizeof(std::uint32_t));
  device->synchronize();
  if (!holds_pattern(host.data(), kWords, use)) throw DeviceLost("its memory returns other data than were written");
}

// Why the device does not answer; empty if it does.
std::string silence_of(Platform& platform, int index) {
  std::string problem;
  // In a thread of its own: opening a device binds the thread to it.
  std::thread([&] {
    try {
      check_copies(platform, index);
    } catch (const OutOfMemory&) {
      // The device answers; another process uses its memory.
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }).join();
  return problem;
}

nlohmann::json answer_device(const nlohmann::json& body, RequestContext& context) {
  // Restarts the time limit, so that starting the worker does not count.
  context.note({{"checking", body.at("id")}});
  Platform& platform = mgcompare::platform(device_kind(body.at("kind").get<std::string>()));
  const auto id = body.at("id").get<std::string>();
  // The numbers of devices change when one disappears; ids do not.
  for (const DeviceInfo& device : platform.devices())
    if (device.id == id) return {{"index", device.index}, {"silence", silence_of(platform, device.index)}};
  return {{"index", -1}, {"silence", fmt::format("{} is no longer in the machine", id)}};
}

// Nothing if the user interrupts.
std::optional<DeviceStatus> check_device(Supervisor& supervisor, DeviceKind kind, const std::string& id, double limit_seconds) {
  const Reply reply = supervisor.ask("device", {{"kind", to_string(kind)}, {"id", id}}, limit_seconds);
  if (reply.status == TrialStatus::interrupted) return std::nullopt;
  DeviceStatus answer;
  if (reply.answered()) {
    answer.index = reply.body.at("index").get<int>();
    answer.silence = plain(reply.body.at("silence").get<std::string>());
  } else if (reply.status == TrialStatus::timeout) {
    answer.silence = fmt::format("no answer for {:g} s", limit_seconds);
  } else {
    answer.silence = reply.failure();
  }
  return answer;
}

}  // namespace

LinkMeasurements measure_links_in_worker(Supervisor& supervisor, DeviceKind kind, const DoctorScope& scope,
                                         const std::function<void(const std::string&)>& report) {
  std::string last = "opening them";
  const auto on_note = [&](const nlohmann::json& note) {
    if (!note.contains("step")) return;
    last = plain(note["step"].get<std::string>());
    report(last);
  };
  const Reply reply = supervisor.ask(
      "links",
      {{"kind", to_string(kind)}, {"devices", scope.devices}, {"ids", scope.ids}, {"groups", scope.groups}, {"brief", scope.brief}, {"calls", scope.calls}},
      kDoctorSeconds, {{}, on_note});
  if (reply.answered()) return reply.body.get<LinkMeasurements>();
  LinkMeasurements links;
  links.kind = std::string(to_string(kind));
  if (reply.status != TrialStatus::interrupted)
    links.problems.push_back(fmt::format("the check of {} devices stopped at '{}': {}", links.kind,
                                         last, reply.failure()));
  return links;
}

std::optional<std::vector<DeviceStatus>> check_devices(Supervisor& supervisor, DeviceKind kind,
                                                       const std::vector<std::string>& ids, double limit_seconds) {
  std::vector<DeviceStatus> answers;
  for (const std::string& id : ids) {
    std::optional<DeviceStatus> answer = check_device(supervisor, kind, id, limit_seconds);
    for (int attempt = 1; attempt < kDoctorAttempts && answer && is_passing_shortage(answer->silence); ++attempt) {
      supervisor.end_worker();
      std::this_thread::sleep_for(kDoctorPause);
      answer = check_device(supervisor, kind, id, limit_seconds);
    }
    if (!answer || is_passing_shortage(answer->silence)) return std::nullopt;
    answers.push_back(std::move(*answer));
  }
  return answers;
}

Handlers doctor_handlers() { return {{"links", answer_links}, {"device", answer_device}}; }

}  // namespace mgcompare
