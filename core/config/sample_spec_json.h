#pragma once

// Descriptions of samples as JSON, for messages between processes.

#include <nlohmann/json.hpp>

#include "config/sample_spec.h"

namespace mgcompare {

NLOHMANN_JSON_SERIALIZE_ENUM(ElementType, {{ElementType::uint8, "uint8"}, {ElementType::float32, "float32"},
                                           {ElementType::int32, "int32"}, {ElementType::int64, "int64"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FoundInteger, value, place)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SampleSpec, shape, element, classes, targets, tokens, smallest, largest)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DataSummary, spec, train_samples, test_samples, place)

}  // namespace mgcompare
