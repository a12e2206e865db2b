#pragma once

// Every worker has a guardian: a small process between it and the runner. Whatever ends the worker or the runner, the
// guardian kills all descendants of the worker, also those in sessions of their own, and then ends in the way the worker
// ended. The runner starts the guardian, sends signals to it and waits for it.

namespace mgcompare {

// Splits the calling process, which must have one thread, in two. Returns in the child, which is the worker and the leader of
// a process group. The parent becomes the guardian: it passes TERM and INT on to the worker's group, and takes HUP, which the
// kernel sends when the runner ends, as the order to kill everything. It never returns.
void split_off_guardian();

}  // namespace mgcompare
