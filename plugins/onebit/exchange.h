#pragma once

// The striped exchange: each rank owns a stripe of columns. It receives all ranks' codes for them, adds the decoded values,
// quantises the sum with a residual for that sum, and sends the result to all ranks.

#include "codes.h"
#include "columns.h"

namespace mgcompare::onebit {

class Exchange {
 public:
  Exchange(Device& device, const Columns& columns, unsigned bits, bool keep_residual, std::size_t elements,
           std::size_t rank, std::size_t ranks)
      : bits_(bits), ranks_(ranks) {
    const std::vector<Range> stripes = stripes_of(columns, ranks);
    for (const Range& stripe : stripes) counts_.push_back(columns.first_word[stripe.end] - columns.first_word[stripe.begin]);
    stripe_ = stripes[rank];
    words_ = {columns.first_word[stripe_.begin], columns.first_word[stripe_.end]};
    const auto first = columns.segments.begin();
    all_ = SegmentTable(device, columns.segments);
    own_ = SegmentTable(device, {first + static_cast<std::ptrdiff_t>(stripe_.begin), first + static_cast<std::ptrdiff_t>(stripe_.end)});
    first_word_ = device_array<std::uint32_t>(device, columns.first_word.size());
    copy_to_device(device, first_word_.span(), Span<const std::uint32_t>(columns.first_word.data(), columns.first_word.size()));
    wire_ = device_array<std::uint32_t>(device, columns.first_word.back());
    received_ = device_array<std::uint32_t>(device, words_.size() * ranks);
    sum_ = device_array<float>(device, elements);  // only this rank's stripe is used, of the sum and of its residual
    if (keep_residual) residual_ = device_array<float>(device, elements);
    if (keep_residual) sum_residual_ = device_array<float>(device, elements);
    device.synchronize();
  }

  // Replaces the gradients by the quantised sum over ranks.
  void run(Device& device, Group& group, Vec gradients) {
    quantise(device, all_, first_word_.data(), gradients, residual_.span(), wire_.span(), 0);
    group.all_to_all(wire_.span(), counts_, received_.span(), Counts(ranks_, words_.size()));
    const std::uint32_t* own_words = first_word_.data() + stripe_.begin;
    const auto begins = static_cast<std::uint32_t>(words_.begin);
    decode(device, own_, {received_.data(), ranks_, words_.size(), own_words, begins, bits_, sum_.data()});
    const Span<std::uint32_t> mine = received_.span().slice({0, words_.size()});
    quantise(device, own_, own_words, sum_.span(), sum_residual_.span(), mine, begins);
    group.all_gather(mine, wire_.span(), counts_);
    decode(device, all_, {wire_.data(), 1, 0, first_word_.data(), 0, bits_, gradients.data()});
  }

  // The quantisation errors of this rank's gradients, and of the sums that it owns. Empty if residuals are off.
  Vec residual() const { return residual_.span(); }
  Vec sum_residual() const { return sum_residual_.span(); }
  std::size_t wire_bytes() const { return wire_.size() * sizeof(std::uint32_t); }

 private:
  void quantise(Device& device, const SegmentTable& table, const std::uint32_t* first_word, ConstVec vector, Vec residual,
                Span<std::uint32_t> wire, std::uint32_t wire_begins) {
    const Source source{vector.data(), residual.data(), first_word, wire.data(), wire_begins};
    if (bits_ == 1) encode(device, table, 1, SignCoder{source});
    else encode(device, table, bits_, RangeCoder{source, bits_});
  }

  unsigned bits_;
  std::size_t ranks_;
  Counts counts_;          // words of each rank's stripe
  Range stripe_, words_;   // this rank's columns, and their words on the wire
  SegmentTable all_, own_;
  Array<std::uint32_t> first_word_, wire_, received_;
  Array<float> residual_, sum_, sum_residual_;
};

}  // namespace mgcompare::onebit
