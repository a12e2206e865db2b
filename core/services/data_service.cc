#include "services/data_service.h"

namespace mgcompare {

DataPlaces reporting_places(RequestContext& context) {
  DataPlaces places = DataPlaces::standard("");
  places.download.progress = [&line](const DownloadProgress& progress) {
    line.note({{"download", progress.file}, {"bytes", progress.bytes}, {"total", progress.total}});
  };
  return places;
}

DataLog reporting_log(RequestContext& context) {
  return [&line](const std::string& text) { line.note({{"text", text}}); };
}

}  // namespace mgcompare
