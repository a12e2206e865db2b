#pragma once

// The command line: what was asked for, and the commands beside the comparison itself.

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/config.h"
#include "services/probe_service.h"
#include "cli/progress_display.h"

namespace mgcompare {

enum ExitCode {
  kDone = 0,
  kProblemFound = 1,                // a check found one
  kUsage = 2,                       // of the command line or the config; nothing was run
  kSomeFailed = 3,                  // finished, but some trials failed
  kEnvironment = 4,                 // a device, the data, a plugin or the output is not as needed
  kInUse = 5,                       // the directory belongs to another run
  kInternal = 70,
};

struct Command {
  // run, report, compare, predict, export, replay, verify, plugins, plugins check, plugins new, devices, doctor, config
  std::string name;
  std::string target;               // the config, directory, file or name that it is about
  std::string directory;            // -o
  bool resume = false, dry_run = false, quiet = false, verbose = false;
  bool explain = false, schema = false, markdown = false, json = false, quick = false;
  std::string only;
  std::vector<std::string> overrides;  // "key=value"
  std::string data;                 // the folder, where it was given
  std::string color = "auto";
  std::string second;               // compare: the other directory
  std::string objective, devices, link, regression;  // as given; empty: not given
  bool mllog = false, trace = false;
  bool cuda = false;                // plugins new: for nvcc
};

// What a command line that cannot be carried out is told.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The command, or the exit code when the answer (help, version, a usage error) has been printed already.
struct Parsed {
  Command command;
  std::optional<int> exit_code;
};
Parsed parse(int argc, char** argv);

// Runs `body` and turns whatever it throws into a sentence on stderr and its exit code.
int run_printing_errors(const std::function<int()>& body);

// Settings of a process that listens to this program's signals.
SupervisorSettings supervisor_settings(const std::string& log_file = {});
// The config with the command line's overrides, read for the devices that the prober finds.
Config config_of(const Command& command, CapabilityProbe& probe);

// All commands but `run`.
int other_command(const Command& command);

}  // namespace mgcompare
