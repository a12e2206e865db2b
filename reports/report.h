#pragma once

// Writes what a run has found as files for people and programs. Reads nothing but results; never measures.

#include <string>
#include <vector>

#include "results.h"

namespace mgcompare {

// Writes report.md, results.csv and results.json into the directory and returns their paths. A file is replaced in one
// step or stays as it was. Throws NotWritable.
std::vector<std::string> write_reports(const Run& run, const std::string& directory);

// Replaces one file in one step, on the disk when this returns. Throws NotWritable.
void write_file(const std::string& path, const std::string& text);

}  // namespace mgcompare
