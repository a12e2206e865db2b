#pragma once

#include <string>

namespace mgcompare {

// 32 hexadecimal digits that no other call returns, whatever the process.
std::string random_token();

}  // namespace mgcompare
