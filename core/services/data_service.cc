#include "services/data_service.h"

#include "modules/transfer_host.h"

namespace mgcompare {

DataPlaces reporting_places(const std::string& given_folder, RequestContext& context) {
  DataPlaces places = places_with_downloads(given_folder);
  places.download.progress = [&context](const DownloadProgress& progress) {
    context.note({{"download", progress.file}, {"bytes", progress.bytes}, {"total", progress.total}});
  };
  return places;
}

DataLog reporting_log(RequestContext& context) {
  return [&context](const std::string& text) { context.note({{"text", text}}); };
}

}  // namespace mgcompare
