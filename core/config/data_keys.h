#pragma once

#include <vector>

#include "config/keys.h"

namespace mgcompare {

// The keys of the section `data`, in their order.
std::vector<Key> data_keys();

}  // namespace mgcompare
