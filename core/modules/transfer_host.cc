#include "modules/transfer_host.h"

#include "modules/module_file.h"

namespace mgcompare {
namespace {

std::string transfer(const TransferRequest& request) {
  // Never destroyed, so the library is not closed.
  static auto& library = *new boost::dll::shared_library(open_module("transfer_https", "downloads"));
  static TransferFunction* const opened = library.get<TransferFunction*()>("mgcompare_transfer")();
  return opened(request);
}

}  // namespace

DataPlaces places_with_downloads(const std::string& given_folder) {
  DataPlaces places = DataPlaces::standard(given_folder);
  places.download.transfer = transfer;
  return places;
}

}  // namespace mgcompare
