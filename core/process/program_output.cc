#include "process/program_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/descriptor.h"
#include "base/error_text.h"
#include "mgcompare/error.h"
#include "process/child.h"

namespace mgcompare {

ProgramOutput output_of(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error("cannot start " + words.front() + ": " + error_text(errno));
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) posix_spawn_file_actions_adddup2(&actions, writing.number(), stream);
  std::vector<std::string> copies = words;
  const std::vector<char*> list = exec_list(copies);
  pid_t id = 0;
  const int problem = posix_spawn(&id, list[0], &actions, nullptr, list.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) throw Error("cannot start " + words.front() + ": " + error_text(problem));
  writing.close();
  ProgramOutput output;
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t count = read(reading.number(), bytes.data(), bytes.size());
    if (count > 0) output.text.append(bytes.data(), static_cast<std::size_t>(count));
    else if (count == 0 || errno != EINTR) break;
  }
  int status = 0;
  while (waitpid(id, &status, 0) < 0 && errno == EINTR) {}
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

}  // namespace mgcompare
