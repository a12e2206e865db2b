#include "services/host_link.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

using namespace std::chrono_literals;

constexpr auto kPollPause = 20ms;
constexpr auto kBeat = 1s, kBetweenNotes = 5s;

}  // namespace

HostLink::HostLink(Transport& transport, std::vector<std::string> names, double timeout)
    : transport_(transport), names_(std::move(names)), timeout_(timeout), heard_(transport.hosts(), Clock::now()), answers_(transport.hosts()) {
  // Until the process ends.
  std::thread([this] { run(); }).detach();
}

void HostLink::run() {
  for (;;) {
    try {
      while (const std::optional<HostMessage> message = transport_.receive()) take(*message);
      beat();
      check_silence();
    } catch (const std::bad_alloc&) {
      std::fprintf(stderr, "mgcompare: host %s is out of memory\n", own_name().c_str());
      _exit(EXIT_FAILURE);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "mgcompare: %s\n", error.what());
      _exit(EXIT_FAILURE);
    }
    std::this_thread::sleep_for(kPollPause);
  }
}

void HostLink::send(std::size_t host, const std::string& kind, const nlohmann::json& body) {
  const nlohmann::json message = {{"kind", kind}, {"body", body}};
  transport_.send(host, json_text(message));
}

void HostLink::take(const HostMessage& message) {
  const nlohmann::json json = nlohmann::json::parse(message.text);
  const std::string kind = json.at("kind");
  const std::lock_guard lock(mutex_);
  heard_[message.host] = Clock::now();
  if (kind == "answer") {
    answers_[message.host] = json.at("body");
    const nlohmann::json& body = json.at("body");
    if (body.value(kEnds, false)) give_up({message.host, trial_status_of(body.at("status").get<std::string>()),
                                           fmt::format("on host {}: {}", names_[message.host], body.at("cause").get<std::string>()), false});
  } else if (kind != "beat") {
    requests_.push_back({kind, json.at("body")});
  }
  changed_.notify_all();
}

void HostLink::beat() {
  if (Clock::now() < next_beat_) return;
  next_beat_ = Clock::now() + kBeat;
  const std::size_t end = transport_.host() == 0 ? transport_.hosts() : 1;
  for (std::size_t host = transport_.host() == 0 ? 1 : 0; host < end; ++host) send(host, "beat", nullptr);
}

void HostLink::check_silence() {
  const std::lock_guard lock(mutex_);
  const auto is_silent = [&](std::size_t host) { return std::chrono::duration<double>(Clock::now() - heard_[host]).count() > timeout_; };
  if (transport_.host() != 0) {
    if (!is_silent(0)) return;
    // Nobody is left to tell. The guardian kills what is left here.
    kill(0, SIGKILL);
  }
  for (std::size_t host = 1; host < awaited_ && !trouble_; ++host) {
    if (!is_silent(host)) continue;
    give_up({host, TrialStatus::device_lost,
             fmt::format("host {} has not answered for {:g} s; check that it is on and that its network works", names_[host], timeout_), true});
  }
}

void HostLink::give_up(HostTrouble trouble) {
  if (trouble_) return;
  trouble_ = std::move(trouble);
  transport_.abort();
  changed_.notify_all();
}

void HostLink::ask(std::size_t hosts, const HostRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    answers_.assign(transport_.hosts(), std::nullopt);
    awaited_ = hosts;
  }
  for (std::size_t host = 1; host < hosts; ++host) send(host, request.kind, request.body);
}

std::vector<nlohmann::json> HostLink::answers(std::size_t hosts, const std::function<void()>& waiting) {
  std::unique_lock lock(mutex_);
  const auto all_answered = [&] {
    for (std::size_t host = 1; host < hosts; ++host)
      if (!answers_[host]) return false;
    return true;
  };
  while (!changed_.wait_for(lock, kBetweenNotes, [&] { return trouble_ || all_answered(); })) {
    if (!waiting) continue;
    lock.unlock();
    waiting();
    lock.lock();
  }
  awaited_ = 0;
  std::vector<nlohmann::json> all;
  for (std::size_t host = 1; host < hosts && answers_[host]; ++host) all.push_back(*answers_[host]);
  return all;
}

void HostLink::end_others() {
  for (std::size_t host = 1; host < transport_.hosts(); ++host) send(host, "end", nullptr);
}

std::optional<HostTrouble> HostLink::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::optional<HostRequest> HostLink::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !requests_.empty(); });
  HostRequest request = std::move(requests_.front());
  requests_.pop_front();
  if (request.kind == "end") return std::nullopt;
  return request;
}

void HostLink::answer(const nlohmann::json& body) { send(0, "answer", body); }

}  // namespace mgcompare
