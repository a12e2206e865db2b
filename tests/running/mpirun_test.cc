// What mpirun prints, and the sentence for the user.

#include "process/mpirun.h"

#include <gmock/gmock.h>

namespace mgcompare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kHosts = {"node1", "node2", "node3"};

TEST(MpirunText, ADeadWorkerIsACrashOfItsHost) {
  const HostFailure failure = explain_mpirun(
      "--------\nPrimary job  terminated normally, but 1 process returned\n--------\n"
      "mpirun noticed that process rank 1 with PID 4711 on node node2 exited on signal 9 (Killed).\n--------\n", kHosts);
  EXPECT_EQ(failure.sentence, "the worker of host node2 ended by itself (exited on signal 9 (Killed))");
  EXPECT_TRUE(failure.is_crash);
  EXPECT_THAT(failure.lost, IsEmpty());
}

TEST(MpirunText, AWorkerThatExitsIsACrashOfItsHost) {
  const HostFailure good = explain_mpirun(
      "--------\nmpirun has exited due to process rank 1 with PID 6575 on\nnode node2 exiting improperly. There are three reasons this could occur:\n\n"
      "2. this process called \"init\", but exited without calling \"finalize\".\nBy rule, all processes that call \"init\" MUST\n", kHosts);
  EXPECT_EQ(good.sentence, "the worker of host node2 ended by itself (exit code 0)");
  EXPECT_TRUE(good.is_crash);
  const HostFailure bad = explain_mpirun(
      "Primary job  terminated normally, but 1 process returned\na non-zero exit code.\n--------\nmpirun detected that one or more processes exited with non-zero "
      "status, thus causing\nthe job to be terminated. The first process to do so was:\n\n  Process name: [[34758,1],2]\n  Exit code:    3\n--------\n", kHosts);
  EXPECT_EQ(bad.sentence, "the worker of host node3 ended by itself (exit code 3)");
  EXPECT_TRUE(bad.is_crash);
}

TEST(MpirunText, ALostDaemonIsALostHost) {
  const HostFailure failure = explain_mpirun(
      "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[1,0],0] on node node1\n  Remote daemon: [[1,0],1] on node node2\n", kHosts);
  EXPECT_EQ(failure.sentence, "the connection to host node2 is lost; check the host and its network");
  EXPECT_THAT(failure.lost, ElementsAre("node2"));
}

TEST(MpirunText, ProblemsOfSshNameTheHostAndWhatToDo) {
  const HostFailure unknown = explain_mpirun("ssh: Could not resolve hostname node3: Name or service not known\nORTE was unable to reliably start\n", kHosts);
  EXPECT_EQ(unknown.sentence, "host node3 is not known here: ssh cannot find the address of that name; correct the name in --hosts, or add it to /etc/hosts");
  EXPECT_THAT(unknown.lost, ElementsAre("node3"));
  EXPECT_THAT(explain_mpirun("root@node2: Permission denied (publickey).\n", kHosts).sentence, HasSubstr("host node2 does not let ssh in"));
  EXPECT_THAT(explain_mpirun("ssh: connect to host node2 port 22: Connection refused\n", kHosts).sentence, HasSubstr("host node2 has no ssh server"));
  EXPECT_THAT(explain_mpirun("The value of the MCA parameter \"plm_rsh_agent\" was set to a path\n", kHosts).sentence, HasSubstr("there is no ssh here"));
}

TEST(MpirunText, AnotherMpiIsALibraryThatIsMissing) {
  EXPECT_EQ(explain_mpirun("node2: /opt/bin/mgcompare: error while loading shared libraries: libmpi.so.40: cannot open\n", kHosts).sentence,
            "host node2 lacks a library of the program, or has another version of MPI; install the same packages on every host");
}

TEST(MpirunText, LimitsOfAHostAreNamed) {
  EXPECT_EQ(explain_mpirun("[node2:7] PMIX ERROR: OUT-OF-RESOURCE in file dstore_segment.c at line 208\nstatus, thus causing\nexited with non-zero status\n"
                           "  Process name: [[34758,1],1]\n  Exit code:    1\n", kHosts).sentence,
            "host node2 cannot write to its temporary folder; free space there, raise its limit on the size of files (ulimit -f), or name another "
            "folder in TMPDIR");
  EXPECT_THAT(explain_mpirun("[node3:7] mca_base_component_repository_open: unable to open mca_rml_oob: Too many open files (ignored)\n", kHosts).sentence,
              HasSubstr("host node3 lets a process open too few files; raise the limit there"));
  EXPECT_THAT(explain_mpirun("no such host: node4\nORTE was unable to reliably start one or more daemons.\n", kHosts).sentence,
              HasSubstr("a host did not let mpirun start a worker (\"no such host: node4\"); check that it can be reached"));
}

// A worker says itself why it cannot go on.
TEST(MpirunText, ASentenceOfAWorkerComesFirst) {
  EXPECT_EQ(explain_mpirun("mgcompare: this build has no module\nprocess rank 1 on node node2 exited with code 1\n", kHosts).sentence, "this build has no module");
}

TEST(MpirunText, SilenceIsAFirewall) {
  EXPECT_THAT(explain_silence("", kHosts, 25).sentence, HasSubstr("host node2, node3 did not connect to this machine within 25 s: a firewall"));
}

}  // namespace
}  // namespace mgcompare
