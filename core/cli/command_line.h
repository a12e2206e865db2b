#pragma once

// Parses the command line, and runs all commands but `run`.

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
  kProblemFound = 1,                // a check failed
  kUsage = 2,                       // error in the command line or the config; nothing was run
  kSomeFailed = 3,                  // finished, but some trials failed
  kEnvironment = 4,                 // a device, the data or a plugin is missing, or the output cannot be written
  kInUse = 5,                       // another run uses the directory
  kInternal = 70,
};

// The name of the command that is run without arguments; no word of the command line.
inline constexpr char kFirstUse[] = "";

struct Command {
  // run, report, compare, predict, export, replay, verify, plugins, plugins check, plugins new, devices, doctor, config,
  // examples, completions, help, or kFirstUse
  std::string name;
  std::string target;               // the config, directory, file or name that the command applies to
  std::vector<std::string> targets; // report: all directories, of which `target` is the first
  std::string directory;            // -o
  bool resume = false, dry_run = false, quiet = false, verbose = false;
  bool explain = false, schema = false, markdown = false, json = false, quick = false;
  std::string only;
  std::optional<std::uint64_t> seed;   // --seed; for experiments it is an override, too
  std::vector<std::string> overrides;  // "key=value"
  bool send_data = false;           // --send-data
  std::optional<std::size_t> host_count;  // predict --hosts
  std::string measured;             // --measured: a run
  std::string hosts;                // --hosts: names with commas between; also an override
  std::string data;                 // --data: directory of the data set
  std::string color = "auto";
  std::string second;               // compare: the other directory
  std::string objective, devices, link, regression;  // unparsed; empty: not given
  std::optional<double> until_decided;  // --until-decided, in minutes
  std::optional<double> price;      // --price, per device and hour; for `run` it is an override, too
  bool mllog = false, trace = false;
  bool trust_results = false;       // replay: use the plugin directories and the memory limit that the results name
  std::string python;               // plugins: the interpreter of backends; empty: the first python3 on PATH
  bool manual = false;              // help: the manual page
  bool cuda = false;                // plugins new: with device code for GPUs
};

// The command line is wrong (exit 2).
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The command, or an exit code if there is nothing left to do (help, version, usage error).
struct Parsed {
  Command command;
  std::optional<int> exit_code;
};
Parsed parse(int argc, char** argv);

// Runs `body` and returns its exit code. An exception is printed on stderr as one sentence and becomes an exit code.
int run_printing_errors(const std::function<int()>& body);

// Warns of folders of MGCOMPARE_PLUGIN_PATH that do not exist.
void warn_of_plugin_folders();

// Settings of a worker process that stops when this program gets a signal.
SupervisorSettings supervisor_settings(const std::string& log_file = {});
// Reads the config with the overrides of the command line, for the devices that the probe finds.
Config config_of(const Command& command, ProbeClient& probe);

// All commands but `run`.
int other_command(const Command& command);

}  // namespace mgcompare
