#include "check/reference.h"

#include "mgcompare/arithmetic.h"

namespace mgcompare {
namespace {

// Adds on the host, also for GPUs: this code is not timed.
void add(Device& device, Vec sum, ConstVec more) {
  std::vector<float> a(sum.size()), b(sum.size());
  copy_to_host(device, Vec(a.data(), a.size()), sum);
  copy_to_host(device, Vec(b.data(), b.size()), more);
  device.synchronize();
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  copy_to_device(device, sum, ConstVec(a.data(), a.size()));
  device.synchronize();
}

class Reference : public Strategy {
 public:
  explicit Reference(std::size_t shares) : shares_(shares) {}
  Traits traits() const override { return {.promise = Traits::Promise::exact, .most_ranks = 1}; }

  void start(Replica& replica, Group&) override {
    if (shares_ > 1) sum_ = device_array<float>(replica.device(), replica.weights().size());
  }

  void step(Replica& replica, Group&, const Batch& batch) override {
    if (shares_ == 1) {
      replica.backward(batch);
    } else {
      for (std::size_t k = 0; k < shares_; ++k) {
        replica.backward(batch.part(k, shares_));
        if (k == 0) copy(replica.device(), sum_.span(), replica.gradients());
        else add(replica.device(), sum_.span(), replica.gradients());
      }
      copy(replica.device(), replica.gradients(), sum_.span());
    }
    replica.update();
  }

 private:
  std::size_t shares_;
  Array<float> sum_;
};

class Planted : public Strategy {
 public:
  Traits traits() const override { return {.promise = Traits::Promise::exact}; }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch, Scale::own_share);
    group.all_reduce(replica.gradients());
    std::vector<float> mean(replica.gradients().size());
    copy_to_host(replica.device(), Vec(mean.data(), mean.size()), replica.gradients());
    replica.device().synchronize();
    for (float& value : mean) value /= static_cast<float>(group.size());
    copy_to_device(replica.device(), replica.gradients(), ConstVec(mean.data(), mean.size()));
    replica.device().synchronize();
    replica.update();
  }
};

}  // namespace

std::unique_ptr<Strategy> make_reference(std::size_t shares) { return std::make_unique<Reference>(shares); }
std::unique_ptr<Strategy> make_planted() { return std::make_unique<Planted>(); }

}  // namespace mgcompare
