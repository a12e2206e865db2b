#pragma once

// Sixteen numbers of a vector of weights, from which its distance to another vector can be estimated without the vectors: a
// count sketch (Charikar, Chen, Farach-Colton: "Finding frequent items in data streams", ICALP 2002). Each weight is added,
// with a random sign, to a random one of the numbers. Signs and places depend only on the weight's index, so sketches of
// different strategies, devices and runs can be compared.

#include <optional>
#include <string>
#include <vector>

namespace mgcompare {

// As hexadecimal digits, which are short and exact in JSON.
std::string sketch_of(const std::vector<float>& weights);

// The Euclidean distance of the two vectors. In 99 % of cases the estimate is 0.55 to 1.45 times the distance. Nothing if
// one is not a sketch, such as the empty text of results of an older version.
std::optional<double> sketch_distance(const std::string& one, const std::string& other);
// The Euclidean norm, with the same error.
std::optional<double> sketch_norm(const std::string& sketch);

}  // namespace mgcompare
