#include "services/doctor_service.h"
#include "base/text.h"

#include <fmt/format.h>

#include <thread>

#include "mgcompare/error.h"
#include "check/doctor.h"
#include "modules/platform_host.h"

namespace mgcompare {
namespace {

constexpr double kStepSeconds = 60;  // between two signs of life; a broken link hangs

nlohmann::json answer_links(const nlohmann::json& body, RequestContext& context) {
  DoctorScope scope;
  scope.devices = body.at("devices").get<std::size_t>();
  scope.groups = body.at("groups").get<std::vector<std::size_t>>();
  scope.brief = body.at("brief").get<bool>();
  return examine(platform(device_kind(body.at("kind").get<std::string>())), scope, [&](const std::string& what) {
    context.note({{"examining", what}});
  });
}

// Memory there, work done on it, and the result back.
void use(Platform& platform, int index) {
  const std::unique_ptr<Device> device = platform.open(index);
  constexpr std::size_t kBytes = 4096;
  const Array<std::uint8_t> memory = device_array<std::uint8_t>(*device, kBytes);
  const Array<std::uint8_t> host = host_array<std::uint8_t>(*device, kBytes);
  std::fill_n(host.data(), kBytes, std::uint8_t{0xa5});
  device->copy_to_device(memory.data(), host.data(), kBytes);
  device->copy_to_host(host.data(), memory.data(), kBytes);
  device->synchronize();
  if (host[kBytes - 1] != 0xa5) throw DeviceLost("its memory does not keep what is written to it");
}

// Why the device does not answer; empty where it does.
std::string silence_of(Platform& platform, int index) {
  std::string said;
  // On a thread of its own: opening a device binds the thread to it.
  std::thread([&] {
    try {
      use(platform, index);
    } catch (const OutOfMemory&) {
      // It answers; somebody else uses it.
    } catch (const std::exception& error) {
      said = error.what();
    }
  }).join();
  return said;
}

nlohmann::json answer_roll(const nlohmann::json& body, RequestContext& context) {
  // From here on it takes as long as the device lets it.
  context.note({{"asking", body.at("id")}});
  Platform& platform = mgcompare::platform(device_kind(body.at("kind").get<std::string>()));
  const auto id = body.at("id").get<std::string>();
  // Where one is gone the others have other numbers.
  for (const DeviceInfo& device : platform.devices())
    if (device.id == id) return {{"index", device.index}, {"silence", silence_of(platform, device.index)}};
  return {{"index", -1}, {"silence", fmt::format("{} has gone from the machine", id)}};
}

}  // namespace

LinkMeasurements measure_links_in_worker(Supervisor& supervisor, DeviceKind kind, const DoctorScope& scope,
                        const std::function<void(const std::string&)>& say) {
  std::string last = "opening them";
  const auto note = [&](const nlohmann::json& said) {
    if (!said.contains("examining")) return;
    last = plain(said["examining"].get<std::string>());
    say(last);
  };
  const Reply reply = supervisor.ask(
      "links",
      {{"kind", to_string(kind)}, {"devices", scope.devices}, {"groups", scope.groups}, {"brief", scope.brief}},
      kStepSeconds, {{}, note});
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
    const Reply reply = supervisor.ask("roll", {{"kind", to_string(kind)}, {"id", id}}, limit_seconds);
    if (reply.status == TrialStatus::interrupted) return std::nullopt;
    DeviceStatus answer;
    if (reply.answered()) {
      answer.index = reply.body.at("index").get<int>();
      answer.silence = plain(reply.body.at("silence").get<std::string>());
    } else if (reply.status == TrialStatus::timeout) {
      answer.silence = fmt::format("it was silent for {:g} s", limit_seconds);
    } else {
      answer.silence = reply.failure();
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

Handlers doctor_handlers() { return {{"links", answer_links}, {"roll", answer_roll}}; }

}  // namespace mgcompare
