// 1-bit SGD with error feedback (Seide, Fu, Droppo, Li, Yu: Interspeech 2014). A column is the gradient of one output of a
// layer (a bias is one column). Each element becomes one bit, its sign, and each column two floats, the means of its
// elements of either sign; what that leaves out is added to the next step's gradient. The exchange is striped: each rank
// owns some columns, receives everybody's bits for them, adds, quantises the sum with a residual of its own, and sends it
// to all.

#include <algorithm>
#include <bit>
#include <cmath>

#include "mgcompare/arithmetic.h"
#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

// A column on the wire: two means, then its bits in 32-bit words.
constexpr std::uint32_t kMeans = 2;
constexpr std::uint32_t words_of(std::uint32_t rows) { return kMeans + (rows + 31) / 32; }

// Sum and number of the elements of either sign.
struct Signs {
  float negative = 0, positive = 0;
  std::uint32_t negatives = 0, positives = 0;
  MGCOMPARE_FUNCTION Signs& operator+=(const Signs& other) {
    negative += other.negative;
    positive += other.positive;
    negatives += other.negatives;
    positives += other.positives;
    return *this;
  }
};

// Where the columns lie: in the flat vector and on the wire.
struct Columns {
  std::vector<Segment> segments;
  std::vector<std::uint32_t> first_word;  // on the wire, of the means; one entry more: the number of all words
};

Columns columns_of(const std::vector<Part>& parts) {
  Columns columns;
  std::uint32_t word = 0;
  for (const Part& part : parts) {
    const std::size_t count = part.shape.size() < 2 ? 1 : part.shape[0];
    const auto rows = static_cast<std::uint32_t>(part.range.size() / count);
    for (std::size_t column = 0; column < count; ++column) {
      columns.segments.push_back({static_cast<std::uint32_t>(part.range.begin) + static_cast<std::uint32_t>(column) * rows, rows, 1});
      columns.first_word.push_back(word);
      word += words_of(rows);
    }
  }
  columns.first_word.push_back(word);
  return columns;
}

class OneBit : public Strategy {
 public:
  OneBit(Options& options, const Facts& facts)
      : warm_up_epochs_(static_cast<std::size_t>(
            options.integer("warm_up_epochs", 0, "epochs at the start that exchange whole gradients", 0))),
        ranks_(static_cast<std::size_t>(facts.ranks)) {}

  Traits traits() const override {
    Traits traits;
    // Alone there is nothing to exchange, so nothing is quantised.
    traits.promise = ranks_ == 1 ? Traits::Promise::exact : Traits::Promise::approximate;
    traits.repeats_every = warm_up_epochs_ == 0 ? 1 : 0;
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    if (group.size() == 1) return;
    Device& device = replica.device();
    const Columns columns = columns_of(replica.parts());
    const std::size_t n = replica.weights().size();
    cut_stripes(columns, static_cast<std::size_t>(group.rank()));
    elements_ = {columns.segments[std::min(stripe_.begin, columns.segments.size() - 1)].begin, 0};
    elements_.end = stripe_.size() == 0 ? elements_.begin : columns.segments[stripe_.end - 1].begin + columns.segments[stripe_.end - 1].count;

    std::vector<std::uint32_t> column_of(n), bits_at;
    for (std::size_t c = 0; c < columns.segments.size(); ++c) {
      std::fill_n(column_of.begin() + columns.segments[c].begin, columns.segments[c].count, static_cast<std::uint32_t>(c));
      bits_at.push_back(columns.first_word[c] + kMeans);
    }
    segments_ = upload(device, columns.segments);
    bits_at_ = upload(device, bits_at);
    column_of_ = upload(device, column_of);
    signs_ = device_array<Signs>(device, columns.segments.size());
    wire_ = device_array<std::uint32_t>(device, columns.first_word.back());
    received_ = device_array<std::uint32_t>(device, words_.size() * ranks_);
    residual_ = device_array<float>(device, n);
    sum_ = device_array<float>(device, n);           // only this rank's stripe of these two is used
    sum_residual_ = device_array<float>(device, n);
    device.synchronize();
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch);
    if (group.size() > 1) {
      if (batch.epoch() < warm_up_epochs_) group.all_reduce(replica.gradients());
      else exchange(replica, group);
    }
    replica.update();
  }

  Vec settle(Replica& replica, Group& group) override {
    if (group.size() > 1) report_residual(replica);
    return replica.weights();
  }

  void save(Archive& archive) override {
    archive.put("residual", residual_.span());
    archive.put("residual of the sum", sum_residual_.span());
  }
  void restore(Archive& archive) override {
    archive.get("residual", residual_.span());
    archive.get("residual of the sum", sum_residual_.span());
  }

  // Public because nvcc allows no functor that runs on a GPU inside a private function.

  // vector + residual to the wire, for the columns and elements given; the residual keeps what the bits do not say.
  void quantise(Device& device, Range columns, Range elements, Vec vector, Vec residual) {
    const float* v = vector.data();
    float* r = residual.data();
    std::uint32_t* wire = wire_.data();
    const Span<const Segment> segments = segments_.span().slice(columns);
    const Span<const std::uint32_t> bits_at = bits_at_.span().slice(columns);
    const Span<Signs> signs = signs_.span().slice(columns);
    segmented_reduce(device, segments, signs, [=] MGCOMPARE_FUNCTION(std::size_t i) {
      const float value = v[i] + r[i];
      const bool up = value >= 0;
      return Signs{up ? 0 : value, up ? value : 0, up ? 0u : 1u, up ? 1u : 0u};
    });
    for_each(device, columns.size(), [=] MGCOMPARE_FUNCTION(std::size_t c) {
      const Signs s = signs[c];
      const float low = s.negatives == 0 ? 0 : s.negative / static_cast<float>(s.negatives);
      const float high = s.positives == 0 ? 0 : s.positive / static_cast<float>(s.positives);
      wire[bits_at[c] - 2] = std::bit_cast<std::uint32_t>(low);
      wire[bits_at[c] - 1] = std::bit_cast<std::uint32_t>(high);
    });
    pack_bits(device, segments, bits_at, wire_.span(), [=] MGCOMPARE_FUNCTION(std::size_t i) { return v[i] + r[i] >= 0; });
    const std::uint32_t* column_of = column_of_.data();
    const std::uint32_t* first_bit = bits_at_.data();
    for_each(device, elements.size(), [=] MGCOMPARE_FUNCTION(std::size_t k) {
      const std::size_t i = elements.begin + k;
      const float value = v[i] + r[i];
      r[i] = value - std::bit_cast<float>(wire[first_bit[column_of[i]] - (value >= 0 ? 1 : 2)]);
    });
  }

  // out = or += what the words say of the elements; `first_word` is the number of the words' first on the whole wire.
  void decode(Device& device, Range elements, const std::uint32_t* words, std::size_t first_word, Vec out, bool add) {
    float* o = out.data();
    const std::uint32_t* column_of = column_of_.data();
    const std::uint32_t* bits_at = bits_at_.data();
    const Segment* segments = segments_.data();
    for_each(device, elements.size(), [=] MGCOMPARE_FUNCTION(std::size_t k) {
      const std::size_t i = elements.begin + k;
      const std::uint32_t column = column_of[i];
      const std::size_t row = i - segments[column].begin;
      const std::uint32_t* at = words + (bits_at[column] - first_word);
      const bool up = (at[row / 32] >> (row % 32)) & 1u;
      const float value = std::bit_cast<float>(up ? at[-1] : at[-2]);
      o[i] = add ? o[i] + value : value;
    });
  }

 private:
  template <class T> static Array<T> upload(Device& device, const std::vector<T>& values) {
    Array<T> array = device_array<T>(device, values.size());
    copy_to_device(device, array.span(), Span<const T>(values.data(), values.size()));
    device.synchronize();
    return array;
  }

  // Consecutive columns to each rank, nearly equal in words: one layer may have most of them.
  void cut_stripes(const Columns& columns, std::size_t own_rank) {
    const std::size_t total = columns.first_word.back();
    std::size_t column = 0;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const std::size_t begin = column;
      while (column < columns.segments.size() && columns.first_word[column] * ranks_ < total * (rank + 1)) ++column;
      const Range words = {columns.first_word[begin], columns.first_word[column]};
      counts_.push_back(words.size());
      if (rank != own_rank) continue;
      stripe_ = {begin, column};
      words_ = words;
    }
  }

  void exchange(Replica& replica, Group& group) {
    Device& device = replica.device();
    const Vec gradients = replica.gradients();
    const Range all = {0, segments_.size()};

    quantise(device, all, {0, gradients.size()}, gradients, residual_.span());
    const Counts from_each(ranks_, words_.size());
    group.all_to_all(wire_.span(), counts_, received_.span(), from_each);

    const Vec sum = sum_.span();
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      decode(device, elements_, received_.data() + rank * words_.size(), words_.begin, sum, rank > 0);
    quantise(device, stripe_, elements_, sum, sum_residual_.span());
    // The owner's words leave from a place of their own: the gather overwrites the wire.
    const Span<std::uint32_t> mine = received_.span().slice({0, words_.size()});
    copy(device, mine, wire_.span().slice(words_));
    group.all_gather(mine, wire_.span(), counts_);
    decode(device, {0, gradients.size()}, wire_.data(), 0, gradients, false);
  }

  void report_residual(Replica& replica) {
    std::vector<float> residual(residual_.size());
    copy_to_host(replica.device(), Span<float>(residual.data(), residual.size()), residual_.span());
    replica.device().synchronize();
    double squares = 0;
    for (const float value : residual) squares += static_cast<double>(value) * static_cast<double>(value);
    replica.metric("residual norm", std::sqrt(squares));
    replica.metric("compression", static_cast<double>(residual_.size() * sizeof(float)) / static_cast<double>(wire_.size() * sizeof(std::uint32_t)));
  }

  std::size_t warm_up_epochs_;
  std::size_t ranks_;
  Counts counts_;                    // words of each rank's stripe
  Range stripe_, words_, elements_;  // this rank's columns, their words on the wire, their elements in the flat vector
  Array<Segment> segments_;
  Array<std::uint32_t> bits_at_, column_of_, wire_, received_;
  Array<Signs> signs_;
  Array<float> residual_, sum_, sum_residual_;
};

}  // namespace

MGCOMPARE_STRATEGY(OneBit, "onebit", "1-bit gradients with error feedback, exchanged in stripes")
