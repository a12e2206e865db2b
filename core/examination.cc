#include "examination.h"

#include <fmt/format.h>

#include <thread>

#include "mgcompare/error.h"
#include "platforms.h"

namespace mgcompare {
namespace {

constexpr double kStepSeconds = 60;  // between two signs of life; a broken link hangs
constexpr double kRollSeconds = 30;

nlohmann::json answer_links(const nlohmann::json& body, Line& line) {
  DoctorScope scope;
  scope.devices = body.at("devices").get<std::size_t>();
  scope.groups = body.at("groups").get<std::vector<std::size_t>>();
  scope.brief = body.at("brief").get<bool>();
  return examine(platform(device_kind(body.at("kind").get<std::string>())), scope, [&](const std::string& what) {
    line.note({{"examining", what}});
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

std::string answer_of(Platform& platform, const std::vector<DeviceInfo>& found, std::size_t index,
                      const std::string& id) {
  if (index >= found.size()) return fmt::format("there are only {} devices left", found.size());
  if (found[index].id != id) return fmt::format("{} has gone from the machine", id);
  std::string said;
  // On a thread of its own: opening a device binds the thread to it.
  std::thread([&] {
    try {
      use(platform, static_cast<int>(index));
    } catch (const OutOfMemory&) {
      // It answers; somebody else uses it.
    } catch (const std::exception& error) {
      said = error.what();
    }
  }).join();
  return said;
}

nlohmann::json answer_roll(const nlohmann::json& body, Line& line) {
  Platform& devices = platform(device_kind(body.at("kind").get<std::string>()));
  const std::vector<DeviceInfo> found = devices.devices();
  std::vector<std::string> answers;
  for (const std::string& id : body.at("ids").get<std::vector<std::string>>()) {
    answers.push_back(answer_of(devices, found, answers.size(), id));
    line.note({{"answered", answers.size()}});
  }
  return answers;
}

}  // namespace

Links examine_in_worker(Supervisor& supervisor, DeviceKind kind, const DoctorScope& scope,
                        const std::function<void(const std::string&)>& say) {
  std::string last = "opening them";
  const auto note = [&](const nlohmann::json& said) {
    if (!said.contains("examining")) return;
    last = sanitized(said["examining"].get<std::string>());
    say(last);
  };
  const Reply reply = supervisor.ask(
      "links",
      {{"kind", to_string(kind)}, {"devices", scope.devices}, {"groups", scope.groups}, {"brief", scope.brief}},
      kStepSeconds, {{}, note});
  if (reply.status == "answer") return reply.body.get<Links>();
  Links links;
  links.kind = std::string(to_string(kind));
  if (reply.status != "interrupted")
    links.problems.push_back(fmt::format("the examination of {} devices did not get past '{}': {} ({})", links.kind,
                                         last, reply.cause, reply.status));
  return links;
}

std::vector<std::string> call_roll(Supervisor& supervisor, DeviceKind kind, const std::vector<std::string>& ids) {
  const Reply reply = supervisor.ask("roll", {{"kind", to_string(kind)}, {"ids", ids}}, kRollSeconds);
  if (reply.status != "answer")
    return std::vector<std::string>(ids.size(), fmt::format("{} ({})", reply.cause, reply.status));
  std::vector<std::string> answers = reply.body.get<std::vector<std::string>>();
  for (std::string& answer : answers) answer = sanitized(answer);
  return answers;
}

Handlers examination_handlers() { return {{"links", answer_links}, {"roll", answer_roll}}; }

}  // namespace mgcompare
