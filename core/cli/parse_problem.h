#pragma once

// Mistakes in a command line, in the words of the program instead of those of the library that parses it.

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace mgcompare {

// A sentence that tells what to write instead.
std::string parse_problem(const CLI::App& app, const CLI::ParseError& error);

}  // namespace mgcompare
