#pragma once

// Downloads over https, with libcurl: the only user of it.

#include <string>

#include "data/transfer.h"

namespace mgcompare {

// As Transfer in data/transfer.h.
std::string transfer_by_https(const TransferRequest& request);

}  // namespace mgcompare
