#include "modules/transport_host.h"

#include "modules/module_file.h"

namespace mgcompare {

Transport& transport() {
  // Never destroyed, so the library is not closed.
  static auto& library = *new boost::dll::shared_library(open_module("transport_mpi", "several hosts", "install MPI (Debian: libopenmpi-dev), and build again in an empty build directory"));
  static Transport& opened = *library.get<Transport*()>("mgcompare_transport")();
  return opened;
}

}  // namespace mgcompare
