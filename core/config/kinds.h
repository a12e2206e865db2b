#pragma once

// Settings with a fixed set of values, and the one table of their names in YAML, JSON and messages.

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "mgcompare/error.h"

namespace mgcompare {

enum class OptimizerKind { sgd, adam, adagrad, adadelta };
enum class ScheduleKind { constant, step, cosine };
// How the learning rate scales with the global batch.
enum class BatchRule { none, linear, sqrt };
enum class LayerType {
  conv, max_pool, average_pool, dense, tanh, relu, sigmoid, dropout, batch_norm, flatten, add, concat,
  embedding, one_hot, global_average_pool, layer_norm, gelu, lrn, gru, lstm
};
enum class InitializerKind { xavier, glorot_uniform, he_normal, normal, uniform, zeros, he_fan_out, fan_in_uniform };
enum class DataSource { mnist, digits, cifar10, idx, npy, tokens, text, synthetic };
// What to use if the data set is not available.
enum class DataFallback { none, digits, synthetic };
// What is predicted in a sequence: the token after it, or that after each position. automatic: last for tokens, next for text.
enum class TargetKind { automatic, last, next };
// Where samples are stored.
enum class DataLocation { device, host };
enum class ScalingMode { strong, weak };
enum class Precision { automatic, fp32, tf32, bf16 };
// Who computes the layers on GPUs: mgcompare's kernels beside the libraries', or the libraries wherever they have the layer.
enum class KernelChoice { fused, library };
enum class BatchNormPolicy { local, sync };
enum class MeasureLevel { quick, normal, thorough };
enum class Rehearse { automatic, always, never };
// Which trials share a worker process.
enum class Isolation { sweep, trial };
// Who starts the workers of other hosts.
enum class HostLauncher { automatic, slurm, mpirun };

// Names in the order of the enumerators.
template <class E> inline constexpr std::array<std::string_view, 0> kKindNames = {};
template <>
inline constexpr auto kKindNames<OptimizerKind> = std::to_array<std::string_view>({"sgd", "adam", "adagrad", "adadelta"});
template <>
inline constexpr auto kKindNames<ScheduleKind> = std::to_array<std::string_view>({"constant", "step", "cosine"});
template <> inline constexpr auto kKindNames<BatchRule> = std::to_array<std::string_view>({"none", "linear", "sqrt"});
template <>
inline constexpr auto kKindNames<LayerType> =
    std::to_array<std::string_view>({"conv", "max_pool", "average_pool", "dense", "tanh", "relu", "sigmoid", "dropout",
                                     "batch_norm", "flatten", "add", "concat",
                                     "embedding", "one_hot", "global_average_pool", "layer_norm", "gelu", "lrn", "gru", "lstm"});
template <>
inline constexpr auto kKindNames<InitializerKind> =
    std::to_array<std::string_view>({"xavier", "glorot_uniform", "he_normal", "normal", "uniform", "zeros", "he_fan_out", "fan_in_uniform"});
template <>
inline constexpr auto kKindNames<DataSource> = std::to_array<std::string_view>(
    {"mnist", "digits", "cifar10", "idx", "npy", "tokens", "text", "synthetic"});
template <>
inline constexpr auto kKindNames<DataFallback> = std::to_array<std::string_view>({"none", "digits", "synthetic"});
template <> inline constexpr auto kKindNames<TargetKind> = std::to_array<std::string_view>({"auto", "last", "next"});
template <> inline constexpr auto kKindNames<DataLocation> = std::to_array<std::string_view>({"device", "host"});
template <> inline constexpr auto kKindNames<ScalingMode> = std::to_array<std::string_view>({"strong", "weak"});
template <>
inline constexpr auto kKindNames<Precision> = std::to_array<std::string_view>({"auto", "fp32", "tf32", "bf16"});
template <> inline constexpr auto kKindNames<KernelChoice> = std::to_array<std::string_view>({"fused", "library"});
template <> inline constexpr auto kKindNames<BatchNormPolicy> = std::to_array<std::string_view>({"local", "sync"});
template <>
inline constexpr auto kKindNames<Rehearse> = std::to_array<std::string_view>({"auto", "always", "never"});
template <>
inline constexpr auto kKindNames<MeasureLevel> = std::to_array<std::string_view>({"quick", "normal", "thorough"});
template <> inline constexpr auto kKindNames<Isolation> = std::to_array<std::string_view>({"sweep", "trial"});

template <>
inline constexpr auto kKindNames<HostLauncher> = std::to_array<std::string_view>({"auto", "slurm", "mpirun"});

template <class E>
concept Kind = std::is_enum_v<E> && (kKindNames<E>.size() > 0);

template <Kind E> constexpr std::string_view to_string(E kind) { return kKindNames<E>[static_cast<std::size_t>(kind)]; }

template <Kind E> std::optional<E> find_kind(std::string_view name) {
  const auto found = std::find(kKindNames<E>.begin(), kKindNames<E>.end(), name);
  if (found == kKindNames<E>.end()) return std::nullopt;
  return static_cast<E>(found - kKindNames<E>.begin());
}

// Throws Error for a name that is not in the table.
template <Kind E> E kind_named(std::string_view name) {
  if (const std::optional<E> kind = find_kind<E>(name)) return *kind;
  std::string text = "unknown name '";
  text.append(name).append("'; known names:");
  for (const std::string_view known : kKindNames<E>) text.append(" ").append(known);
  throw Error(text);
}

}  // namespace mgcompare
