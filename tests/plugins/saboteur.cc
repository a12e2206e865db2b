// Wraps another strategy and lets one rank fail in the middle of an exchange: after its n-th call of the group in a
// step.

#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

std::string file_of(const std::string& name) { return std::string(SHIPPED_PLUGINS) + "/strategy_" + name + ".so"; }

std::vector<std::string> shipped() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(SHIPPED_PLUGINS)) {
    const std::string stem = entry.path().stem().string(), prefix = "strategy_";
    if (stem.starts_with(prefix)) names.push_back(stem.substr(prefix.size()));
  }
  return names;
}

// Forwards every call and counts it. The wrapped group is called through its public methods.
class CountingGroup : public Group {
 public:
  explicit CountingGroup(std::function<void()> counted) : counted_(std::move(counted)) {}
  void around(Group& inner) { inner_ = &inner; }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void barrier() override {
    counted_();
    inner_->barrier();
  }
  void exclusive(std::size_t stripe, const std::function<void()>& f) override {
    counted_();
    inner_->exclusive(stripe, f);
  }
  void wait_until(const std::function<bool()>& predicate) override {
    counted_();
    inner_->wait_until(predicate);
  }
  int expose(Vec memory) override { return inner_->expose(memory); }

 protected:
  void all_reduce_raw(void* data, std::size_t count, Type type) override {
    counted_();
    typed(type, [&]<class T>(T) { inner_->all_reduce(Span<T>(static_cast<T*>(data), count)); });
  }
  void reduce_raw(void* data, std::size_t count, Type type, int root) override {
    counted_();
    typed(type, [&]<class T>(T) { inner_->reduce(Span<T>(static_cast<T*>(data), count), root); });
  }
  void broadcast_raw(void* data, std::size_t bytes, int root) override {
    counted_();
    inner_->broadcast(view<std::uint8_t>(data, bytes), root);
  }
  void gather_raw(const void* mine, void* all, const Counts& bytes, int root) override {
    counted_();
    inner_->gather(view<const std::uint8_t>(mine, own(bytes)), view<std::uint8_t>(all, rank() == root ? total(bytes) : 0), root, bytes);
  }
  void scatter_raw(const void* all, void* mine, const Counts& bytes, int root) override {
    counted_();
    inner_->scatter(view<const std::uint8_t>(all, rank() == root ? total(bytes) : 0), view<std::uint8_t>(mine, own(bytes)), root, bytes);
  }
  void all_gather_raw(const void* mine, void* all, const Counts& bytes) override {
    counted_();
    inner_->all_gather(view<const std::uint8_t>(mine, own(bytes)), view<std::uint8_t>(all, total(bytes)), bytes);
  }
  void reduce_scatter_raw(const void* all, void* mine, const Counts& counts, Type type) override {
    counted_();
    typed(type, [&]<class T>(T) { inner_->reduce_scatter(view<const T>(all, total(counts)), view<T>(mine, own(counts)), counts); });
  }
  void all_to_all_raw(const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) override {
    counted_();
    inner_->all_to_all(view<const std::uint8_t>(out, total(out_bytes)), out_bytes, view<std::uint8_t>(in, total(in_bytes)), in_bytes);
  }
  void* shared_raw(const std::string& key, const std::function<std::shared_ptr<void>()>& make) override {
    struct Held {
      std::shared_ptr<void> object;
    };
    return inner_->shared<Held>([&] { return std::make_unique<Held>(Held{make()}); }, key).object.get();
  }
  void get_raw(int rank, int window, std::size_t begin, Vec into) override {
    counted_();
    inner_->peer(rank).get(window, begin, into);
  }
  void put_raw(int rank, int window, std::size_t begin, ConstVec from) override {
    counted_();
    inner_->peer(rank).put(window, begin, from);
  }
  void add_raw(int rank, int window, std::size_t begin, ConstVec from) override {
    counted_();
    inner_->peer(rank).add(window, begin, from);
  }

 private:
  template <class T, class Data> static Span<T> view(Data* data, std::size_t size) { return {static_cast<T*>(data), size}; }
  static std::size_t total(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }
  std::size_t own(const Counts& counts) const { return counts[static_cast<std::size_t>(rank())]; }

  template <class F> static void typed(Type type, F f) {
    switch (type) {
      case Type::float32: return f(float{});
      case Type::float16: return f(Half{});
      case Type::bfloat16: return f(BFloat16{});
      case Type::uint8: return f(std::uint8_t{});
      case Type::uint32: return f(std::uint32_t{});
    }
  }

  std::function<void()> counted_;
  Group* inner_ = nullptr;
};

class Saboteur : public Strategy {
 public:
  Saboteur(Options& options, const Facts& facts)
      : how_(options.choice("how", "throw", "what goes wrong", {"throw", "segv", "exit", "hang"})),
        after_(options.integer("after", 1, "calls of the group in the step that still go well", 0)), rank_(facts.ranks - 1),
        group_([this] { count(); }) {
    const std::string name = options.choice("inner", "replicated", "the strategy that is sabotaged", shipped());
    void* const library = dlopen(file_of(name).c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto* const plugin = library == nullptr ? nullptr : static_cast<const Plugin*>(dlsym(library, "mgcompare_plugin"));
    if (plugin == nullptr) throw Error("no plugin " + name);
    inner_.reset(plugin->make(options, facts));
  }

  Traits traits() const override { return inner_->traits(); }

  void start(Replica& replica, Group& group) override {
    group_.around(group);
    inner_->start(replica, group_);
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    armed_ = batch.epoch() == 0 && batch.step() >= 3 && group.rank() == rank_;
    calls_ = 0;
    inner_->step(replica, group_, batch);
    if (armed_) fail();  // a step with fewer calls fails at its end
  }

  void rest(Replica& replica, Group&) override { inner_->rest(replica, group_); }
  // Free-running ranks: this one may not have reached a third step.
  Vec settle(Replica& replica, Group& group) override {
    if (group.rank() == rank_) fail();
    return inner_->settle(replica, group_);
  }

 private:
  void count() {
    if (armed_ && calls_++ >= after_) fail();
  }

  [[noreturn]] void fail() {
    if (how_ == "segv") {
      std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would catch the signal
      std::raise(SIGSEGV);
    }
    if (how_ == "exit") _exit(0);
    while (how_ == "hang") pause();
    throw Error("the planted error");
  }

  std::string how_;
  std::int64_t after_;
  int rank_;
  CountingGroup group_;
  std::unique_ptr<Strategy> inner_;
  bool armed_ = false;
  std::int64_t calls_ = 0;
};

}  // namespace

MGCOMPARE_STRATEGY(Saboteur, "saboteur", "wrong on purpose: another strategy, one rank of which fails in an exchange")
