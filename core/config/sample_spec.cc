#include "config/sample_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mgcompare {

std::string_view name_of(ElementType type) {
  switch (type) {
    case ElementType::uint8: return "uint8";
    case ElementType::float32: return "float32";
    case ElementType::int32: return "int32";
    case ElementType::int64: return "int64";
  }
  return "";
}

std::string classes_text(std::size_t classes) { return fmt::format("{} class{}", classes, classes == 1 ? "" : "es"); }

std::string form_text(const SampleSpec& spec) {
  const char* const axes = spec.shape.size() == 2 ? " (time x features)" : "";
  const std::string text = fmt::format("{} {}{}, {}", fmt::join(spec.shape, " x "), name_of(spec.element), axes, classes_text(spec.classes));
  return spec.targets == 1 ? text : fmt::format("{} at each of {} positions", text, spec.targets);
}

std::string time_axis_remark(const SampleSpec& spec) {
  if (spec.shape.size() != 2) return "";
  return fmt::format("a sample is read as {} steps of time with {} feature{} each; if the samples are images, save them with an axis of channels: "
                     "(samples, 1, {}, {}), with NumPy x[:, None]",
                     spec.shape[0], spec.shape[1], spec.shape[1] == 1 ? "" : "s", spec.shape[0], spec.shape[1]);
}

std::string channels_last_warning(const SampleSpec& spec) {
  if (spec.shape.size() != 3) return "";
  const std::size_t first = spec.shape.front(), last = spec.shape.back();
  if ((last != 1 && last != 3 && last != 4) || first <= last) return "";
  return fmt::format("the samples are read as {} channels of {} x {}, but look like images with {} channel{} as the last axis: if so, "
                     "transpose them to (channels, height, width), with NumPy x.transpose(0, 3, 1, 2)",
                     first, spec.shape[1], last, last, last == 1 ? "" : "s");
}

}  // namespace mgcompare
