#pragma once

// Why a trial, or the answer to another question, ended before its end.

#include <exception>
#include <string>

namespace mgcompare {

struct Cause {
  std::string status;               // what it makes of a trial, in the words of result.h
  std::string sentence;
};

// Of whatever was thrown: by a plugin that need not be an exception.
Cause cause_of(const std::exception_ptr& thrown);

}  // namespace mgcompare
