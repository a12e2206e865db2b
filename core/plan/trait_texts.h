#pragma once

// A strategy's traits as text, by name, to compare its answers in one process and across processes. Equal options and facts
// must give equal traits: otherwise rows are planned, measured and judged by different promises.

#include <map>
#include <string>

#include "mgcompare/strategy.h"

namespace mgcompare {

using TraitTexts = std::map<std::string, std::string>;

TraitTexts texts_of(const Traits& traits);

// Throws Error, with the plugin's name, for traits that no row can have: no kind of device, an exact promise of many models, fewer than one rank, more least
// than most ranks, a negative period, stages that do not ascend, or more than a thousand of them.
void expect_possible_traits(const std::string& plugin, const Traits& traits);

// Throws Error, with the plugin's name and the first trait that differs, if the strategy has answered otherwise before.
void expect_same_traits(const std::string& plugin, const TraitTexts& before, const Traits& now);

}  // namespace mgcompare
