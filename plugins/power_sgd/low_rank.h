#pragma once

// Low-rank approximation of gradient matrices, P Q^T, with error feedback.

#include <vector>

#include "mgcompare/group.h"
#include "mgcompare/replica.h"
#include "team.h"

namespace mgcompare::power_sgd {

// A matrix of the flat vector, and the positions of its factors among those of all matrices.
struct Matrix {
  std::size_t begin;              // in the flat vector
  std::uint32_t rows, columns;
  std::size_t p_begin, q_begin;   // (rows, rank) and (columns, rank), row-major
};

inline bool compresses(std::size_t rows, std::size_t columns, std::size_t rank) {
  return (rows + columns) * rank * 2 < rows * columns;
}

// Makes the columns of each matrix of P orthonormal by Gram-Schmidt with a second pass: if a column depends on the earlier
// ones, only rounding errors are left of it, and the second pass makes these orthogonal too. The small constant avoids a
// division by zero for columns of zeros.
struct Orthogonalise {
  const Matrix* matrices;
  float* p;
  std::size_t rank;
  template <class Team> MGCOMPARE_FUNCTION void operator()(Team& team, std::size_t m) const {
    const Matrix matrix = matrices[m];
    float* const first = p + matrix.p_begin;
    const auto product = [&](std::size_t a, std::size_t b) {
      float sum = 0;
      for (std::size_t row = team.rank(); row < matrix.rows; row += team.size())
        sum += first[row * rank + a] * first[row * rank + b];
      return team.sum(sum);
    };
    for (std::size_t c = 0; c < rank; ++c) {
      for (std::size_t former = 0; former < 2 * c; ++former) {
        const std::size_t f = former % c;
        const float along = product(f, c);
        for (std::size_t row = team.rank(); row < matrix.rows; row += team.size())
          first[row * rank + c] -= along * first[row * rank + f];
      }
      const float scale = 1 / (sqrtf(product(c, c)) + 1e-8f);
      for (std::size_t row = team.rank(); row < matrix.rows; row += team.size()) first[row * rank + c] *= scale;
    }
  }
};

// M = g + e, for compressed elements only.
struct AddError {
  float* gradients;
  const float* error;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const { gradients[i] += error[i]; }
};

// The new error, shared equally among ranks: e = M - sum / ranks.
struct KeepError {
  const float* own;
  const float* sum;
  float* error;
  float share;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const { error[i] = own[i] - share * sum[i]; }
};

class LowRank {
 public:
  LowRank(Device& device, const std::vector<Part>& parts, std::size_t rank, std::size_t ranks, const Random& random)
      : rank_(rank), ranks_(ranks) {
    std::size_t p = 0, q = 0, end = 0;
    for (const Part& part : parts) {
      const std::size_t rows = part.shape.empty() ? 1 : part.shape[0], columns = part.range.size() / rows;
      end = part.range.end;
      if (part.shape.size() < 2 || !compresses(rows, columns, rank)) {
        whole_.push_back(part.range);
        continue;
      }
      matrices_.push_back({part.range.begin, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(columns), p, q});
      p += rows * rank;
      q += columns * rank;
    }
    factors_p_ = p;
    std::size_t whole = 0;
    for (const Range range : whole_) whole += range.size();
    // Uncompressed elements follow the factors in the same vector: one exchange for both.
    first_ = device_array<float>(device, p + whole);
    q_ = device_array<float>(device, q);
    own_ = device_array<float>(device, end);
    error_ = device_array<float>(device, end);
    table_ = device_array<Matrix>(device, matrices_.size());
    copy_to_device(device, table_.span(), Span<const Matrix>(matrices_.data(), matrices_.size()));
    std::vector<float> drawn(q);
    for (std::size_t i = 0; i < q; ++i) drawn[i] = static_cast<float>(random.normal(i));
    copy_to_device(device, q_.span(), ConstVec(drawn.data(), drawn.size()));
    device.synchronize();
  }

  // Replaces the gradients by the approximated sum over ranks.
  void run(Device& device, Group& group, Vec gradients) {
    for (const Matrix& matrix : matrices_) {
      float* const g = gradients.data() + matrix.begin;
      for_each(device, size_of(matrix), AddError{g, error_.data() + matrix.begin});
      device.matmul({.a = g, .b = q_.data() + matrix.q_begin, .c = first_.data() + matrix.p_begin,
                     .m = matrix.rows, .n = rank_, .k = matrix.columns});
    }
    std::size_t at = factors_p_;
    for (const Range range : whole_) {
      copy(device, first_.span().slice({at, at + range.size()}), gradients.slice(range));
      at += range.size();
    }
    if (!matrices_.empty()) copy(device, own_.span(), gradients);
    group.all_reduce(first_.span());
    for_each_team(device, matrices_.size(), Orthogonalise{table_.data(), first_.data(), rank_});
    for (const Matrix& matrix : matrices_)
      device.matmul({.a = own_.data() + matrix.begin, .b = first_.data() + matrix.p_begin, .c = q_.data() + matrix.q_begin,
                     .m = matrix.columns, .n = rank_, .k = matrix.rows, .transpose_a = true});
    if (!matrices_.empty()) group.all_reduce(q_.span());
    at = factors_p_;
    for (const Range range : whole_) {
      copy(device, gradients.slice(range), first_.span().slice({at, at + range.size()}));
      at += range.size();
    }
    for (const Matrix& matrix : matrices_) {
      float* const g = gradients.data() + matrix.begin;
      device.matmul({.a = first_.data() + matrix.p_begin, .b = q_.data() + matrix.q_begin, .c = g,
                     .m = matrix.rows, .n = matrix.columns, .k = rank_, .transpose_b = true});
      for_each(device, size_of(matrix), KeepError{own_.data() + matrix.begin, g, error_.data() + matrix.begin,
                                                  1 / static_cast<float>(ranks_)});
    }
  }

  // Q of the last step, where the next one starts.
  Vec q() const { return q_.span(); }
  Vec error() const { return error_.span(); }
  // Elements in the two exchanges of a step.
  std::size_t exchanged() const { return first_.size() + q_.size(); }

 private:
  static std::size_t size_of(const Matrix& matrix) { return static_cast<std::size_t>(matrix.rows) * matrix.columns; }

  std::size_t rank_, ranks_;
  std::vector<Matrix> matrices_;
  std::vector<Range> whole_;     // ranges that are not compressed
  std::size_t factors_p_ = 0;    // elements of P
  Array<float> first_, q_, own_, error_;
  Array<Matrix> table_;
};

}  // namespace mgcompare::power_sgd
