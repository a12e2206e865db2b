#include "modules/transfer_host.h"

#include <exception>

#include "modules/module_file.h"

namespace mgcompare {
namespace {

// Data that cannot be downloaded may have a fallback.
Transfer open_transfer() {
  try {
    // Never destroyed, so the library is not closed.
    static auto& library = *new boost::dll::shared_library(open_module("transfer_https", "downloads", "build or install the program again"));
    return library.get<Transfer()>("mgcompare_transfer")();
  } catch (const std::exception& error) {
    throw DataError(error.what());
  }
}

std::string transfer(const TransferRequest& request) {
  static const Transfer opened = open_transfer();
  return opened(request);
}

}  // namespace

DataPlaces places_with_downloads(const std::string& given_folder) {
  DataPlaces places = DataPlaces::standard(given_folder);
  places.download.transfer = transfer;
  return places;
}

}  // namespace mgcompare
