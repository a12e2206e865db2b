#pragma once

// Opens the transport module with which the workers of several hosts are connected.

#include "platform/transport.h"

namespace mgcompare {

// Opens the module and connects the hosts at its first use. Call in a worker that mpirun started. Throws Error with the reason if that fails.
Transport& transport();

}  // namespace mgcompare
