#pragma once

// Starts one worker on each of several hosts with Open MPI's mpirun, by ssh or by Slurm, and explains in a sentence why that failed.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "config/kinds.h"

namespace mgcompare {

class Mpirun {
 public:
  // Runs this executable with `arguments` on each host. `launcher` is slurm or mpirun. Throws Error.
  Mpirun(HostLauncher launcher, const std::vector<std::string>& hosts, const std::vector<std::string>& arguments);
  ~Mpirun();                        // as stop()
  Mpirun(const Mpirun&) = delete;
  Mpirun& operator=(const Mpirun&) = delete;

  int output() const { return output_.number(); }           // of mpirun and of all workers, non-blocking
  int exit_descriptor() const { return watch_.number(); }   // readable once mpirun has ended
  // Lets mpirun end all workers; kills it if that takes longer than `grace`.
  void stop(std::chrono::milliseconds grace);

 private:
  pid_t id_ = -1;
  Descriptor output_, watch_;
};

// Why the workers could not start, or ended.
struct HostFailure {
  std::string sentence;
  std::vector<std::string> lost = {};  // hosts that cannot be used any more, as far as they are known
  bool is_crash = false;            // a worker ended, not its host
};

// `output`: what mpirun and the workers printed.
HostFailure explain_mpirun(const std::string& output, const std::vector<std::string>& hosts);
// Nothing was connected within the time.
HostFailure explain_silence(const std::string& output, const std::vector<std::string>& hosts, double seconds);

}  // namespace mgcompare
