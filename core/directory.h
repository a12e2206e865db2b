#pragma once

// Where the program's files are, and where a run's files go.

#include <string>
#include <vector>

#include "mgcompare/error.h"

namespace mgcompare {

// A place that this machine does not offer: the output cannot be written.
class NotWritable : public Error {
 public:
  using Error::Error;
};

// runs/<slug>-<local time>, with a number behind it where that is taken.
std::string new_run_directory(const std::string& slug);

// Makes the folder and its parents and writes into it once, so that a long run cannot fail at its end. Throws NotWritable.
void make_output_directory(const std::string& directory);

// Every folder below `runs` that holds results, the newest first.
std::vector<std::string> run_directories();

// Of the installation that this executable belongs to: where networks and schemas are. Empty when there is none.
std::string share_folder();

}  // namespace mgcompare
