#pragma once

// Loading of data sets in a worker process: reports to the runner.

#include <string>

#include "data/load.h"
#include "process/worker.h"

namespace mgcompare {

// The standard places of data, with the folder that --data gave, or "". Downloads are reported as notes
// {"download": file, "bytes": ..., "total": ...}.
DataPlaces reporting_places(const std::string& given_folder, RequestContext& context);
// Reports messages as notes {"text": ...}.
DataLog reporting_log(RequestContext& context);

}  // namespace mgcompare
