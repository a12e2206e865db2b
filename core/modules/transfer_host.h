#pragma once

// Where data may be found, with downloads by the module transfer_https, which is opened at the first of them. Call in a worker only.

#include <string>

#include "data/source.h"

namespace mgcompare {

// As DataPlaces::standard(). A download throws DataError with the reason if the module cannot be opened.
DataPlaces places_with_downloads(const std::string& given_folder);

}  // namespace mgcompare
