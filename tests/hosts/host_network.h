#pragma once

// Hosts for tests: network namespaces joined by a bridge, each with its own host name and temporary directory. Only root can make them.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace mgcompare {

class HostNetwork {
 public:
  explicit HostNetwork(std::size_t hosts);
  ~HostNetwork();
  HostNetwork(const HostNetwork&) = delete;
  HostNetwork& operator=(const HostNetwork&) = delete;

  // Why there is none; empty if there is.
  const std::string& problem() const { return problem_; }
  const std::string& name(std::size_t host) const { return names_.at(host); }
  std::string names() const;        // with commas between
  // A directory for files of all hosts.
  const std::filesystem::path& folder() const { return folder_; }
  // A shell script that runs "$0" "$@" on the first host, with mpirun set to reach the others.
  std::string script() const;
  // Workers on the other hosts find the folder empty from now on.
  void hide(const std::string& folder) const;
  // And have this variable, "NAME=VALUE".
  void set_variable(const std::string& assignment) const;
  // Runs a shell command on the host and returns what it prints.
  std::string run_on(std::size_t host, const std::string& command) const;
  // Bytes that the host has sent to the others.
  std::uint64_t bytes_sent(std::size_t host) const;
  void set_link(std::size_t host, bool up) const;
  // Processes on this host whose command line contains `text`.
  std::vector<int> processes(std::size_t host, const std::string& text) const;

 private:
  void try_mpirun();

  std::string switch_name_;
  std::vector<std::string> names_;
  std::filesystem::path folder_;
  std::string problem_;
};

}  // namespace mgcompare
