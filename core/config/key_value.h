#pragma once

// The value of one key, by the type of its field: read from a tree, written as JSON, described in words.

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/keys.h"
#include "config/problem.h"
#include "config/yaml_guard.h"

namespace mgcompare {

// Stores the value, or adds a problem and leaves the field as it is. Keys without a field are ignored.
void read_value(const Key& key, const Node& node, Config& config, std::vector<Problem>& problems);

// Null for a key without a field.
nlohmann::ordered_json value_of(const Key& key, const Config& config);

// "a number from 0 to 1", "true or false", "one of sgd, adam".
std::string expected(const Key& key);

// The default as YAML; empty for keys without a field and for empty texts and lists.
std::string default_text(const Key& key);

// Whether this is a text of 1 to `max` characters that neither begins nor ends with a blank: reports would show it as another
// name, or as none. Stored configs, which older versions may have written, may have blanks.
bool is_name(const Node& node, std::size_t max);
// A name made of the name of a file: without blanks at its ends, and cut to `max` characters.
std::string as_name(std::string text, std::size_t max);
// "of 1 to 80 characters that neither begins nor ends with a blank"
std::string name_form(std::size_t max);

// What a node contains, for a message: "a list", "'abc'", "nothing".
std::string describe(const Node& node);
// Characters that the caret below a node underlines.
std::size_t width_of(const Node& node);

}  // namespace mgcompare
