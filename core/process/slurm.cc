#include "process/slurm.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <fmt/format.h>

#include "base/program_search.h"
#include "base/text.h"
#include "config/host_name.h"
#include "mgcompare/error.h"
#include "process/program_output.h"

namespace mgcompare {
namespace {

constexpr char kHostList[] = "SLURM_JOB_NODELIST";

}  // namespace

bool is_in_allocation() { return std::getenv("SLURM_JOB_ID") != nullptr && std::getenv(kHostList) != nullptr; }

std::vector<std::string> allocated_hosts() {
  const std::string program = find_program("scontrol");
  if (program.empty())
    throw Error(fmt::format("this is a Slurm allocation ({} is set), but there is no scontrol on PATH to tell its hosts: load Slurm's commands, or name "
                            "the hosts with --hosts", kHostList));
  const ProgramOutput output = output_of({program, "show", "hostnames", std::getenv(kHostList)});
  std::istringstream lines(output.text);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  if (output.exit_code != 0 || names.empty() || !std::all_of(names.begin(), names.end(), is_host_name))
    throw Error(fmt::format("scontrol cannot tell the hosts of this Slurm allocation (\"{}\"): name them with --hosts",
                            plain(names.empty() ? "no output" : names.front())));
  return names;
}

}  // namespace mgcompare
