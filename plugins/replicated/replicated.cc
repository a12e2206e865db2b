// Every rank sums all gradients and updates its own copy (PyTorch DDP, tf_cnn_benchmarks' replicated). The gradient is
// exchanged in buckets as the backward pass finishes them, last layers first. With `deferred`, a step exchanges the gradient
// of the previous step during its whole pass and applies that (tf_cnn_benchmarks' variable_consistency=relaxed); the first
// update is by zeros.

#include <string>

#include "mgcompare/arithmetic.h"
#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

class Replicated : public Strategy {
 public:
  Replicated(Options& options, const Facts& facts)
      : bucket_(elements(options.integer("bucket_bytes", 25 << 20, "gradient bytes to one all-reduce", 4))),
        first_bucket_(elements(options.integer("first_bucket_bytes", 1 << 20,
                                               "bytes of the first all-reduce, smaller so that it starts early", 4))),
        wire_(options.choice("wire", "fp32", "the gradient's numbers between devices; sums are made in fp32",
                             {"fp32", "fp16", "bf16"})),
        deferred_(options.flag("deferred", false, "apply the gradient of the step before, exchanged during this one's pass")),
        // Along a direction of curvature h, sgd with momentum m is stable at rates below 2 (1 + m) / h, and with gradients
        // one step late only below (1 - m) / h. The factor 1 - m makes it as stable as sgd without momentum.
        rate_(options.number_or_auto("rate", "learning rate of deferred updates over the experiment's; auto: 1 - momentum", 1e-6, 1)
                  .value_or(facts.optimizer == "sgd" ? 1 - facts.momentum : 1)),
        alone_(facts.ranks == 1) {
    if (!deferred_ && options.given("rate")) options.refuse("rate", "goes with deferred: true");
  }

  Traits traits() const override {
    Traits traits;
    const bool exact = alone_ || (wire_ == "fp32" && !deferred_);
    traits.promise = exact ? Traits::Promise::exact : Traits::Promise::approximate;
    traits.in_rank_order = exact;
    traits.repeats_every = 1;
    return traits;
  }

  void start(Replica& replica, Group&) override {
    if (alone_) return;
    const std::size_t n = replica.gradients().size();
    if (deferred_) late_ = device_array<float>(replica.device(), n);
    if (wire_ == "fp16") half_ = device_array<Half>(replica.device(), n);
    if (wire_ == "bf16") brain_ = device_array<BFloat16>(replica.device(), n);
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (alone_) replica.backward(batch);
    // Elements [0, end) are still to be updated.
    const std::size_t end = alone_ ? replica.weights().size() : learn(replica, group, batch);
    if (alone_ || !deferred_) replica.update({0, end});
    else replica.optimizer().update(replica.weights(), replica.gradients(), batch, rate_);
  }

  void save(Archive& archive) override { archive.put("gradient of the step before", late_.span()); }
  void restore(Archive& archive) override { archive.get("gradient of the step before", late_.span()); }

  // Public: nvcc accepts no lambda for GPUs in a private method.

  template <class T> void narrow(Device& device, ConstVec vector, Span<T> narrowed) {
    const float* const v = vector.data();
    T* const to = narrowed.data();
    for_each(device, vector.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) { to[i] = T::from(v[i]); });
  }

  template <class T> void widen(Device& device, Span<T> narrowed, Vec vector) {
    const T* const from = narrowed.data();
    float* const v = vector.data();
    for_each(device, vector.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) { v[i] = from[i].value(); });
  }

  void swap(Device& device, Vec one, Vec other) {
    float* const a = one.data();
    float* const b = other.data();
    for_each(device, one.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) {
      const float kept = a[i];
      a[i] = b[i];
      b[i] = kept;
    });
  }

 private:
  static std::size_t elements(std::int64_t bytes) { return static_cast<std::size_t>(bytes) / sizeof(float); }

  // Computes and exchanges gradients. Returns the number of elements still to be updated; the sum for these is in the
  // replica's gradients. Later elements are updated already, while earlier buckets are exchanged.
  std::size_t learn(Replica& replica, Group& group, const Batch& batch) {
    Device& device = replica.device();
    const Vec gradients = replica.gradients();
    const Vec summed = deferred_ ? late_.span() : gradients;
    std::size_t sent = gradients.size();   // elements from here on are sent
    std::size_t left = sent;               // elements not updated yet
    std::size_t limit = first_bucket_;
    replica.backward(batch, [&](Vec slice) {
      const auto ready = static_cast<std::size_t>(slice.data() - gradients.data());
      if (sent - ready < limit && ready > 0) return;
      send(device, group, summed, {ready, sent});
      if (wire_ == "fp32" && !deferred_ && ready > 0) {
        replica.update({ready, sent});
        left = ready;
      }
      sent = ready;
      limit = bucket_;
    });
    // After the pass only: inside `ready` this work would run before the exchanges have finished.
    if (wire_ == "fp16") widen(device, half_.span(), summed);
    if (wire_ == "bf16") widen(device, brain_.span(), summed);
    if (deferred_) swap(device, gradients, summed);
    return left;
  }

  void send(Device& device, Group& group, Vec vector, Range range) {
    if (wire_ == "fp32") return group.all_reduce(vector.slice(range));
    if (wire_ == "fp16") send_as(device, group, vector.slice(range), half_.span().slice(range));
    else send_as(device, group, vector.slice(range), brain_.span().slice(range));
  }

  template <class T> void send_as(Device& device, Group& group, Vec vector, Span<T> narrowed) {
    narrow(device, vector, narrowed);
    group.all_reduce(narrowed);
  }

  std::size_t bucket_;
  std::size_t first_bucket_;
  std::string wire_;
  bool deferred_;
  double rate_;
  bool alone_;
  Array<float> late_;                      // with `deferred`: this rank's gradient of the previous step
  Array<Half> half_;                       // the gradient in fp16 or bf16, for transfer
  Array<BFloat16> brain_;
};

}  // namespace

MGCOMPARE_STRATEGY(Replicated, "replicated", "every rank sums all gradients, then updates its own copy (DDP, Horovod, MirroredStrategy)")
