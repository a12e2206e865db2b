#pragma once

// The samples of the first host for hosts without files of them (--send-data). The first host calls send_data() and each other one
// receive_data(). Both throw as Transport::exchange().

#include <functional>

#include "data/dataset.h"
#include "platform/transport.h"

namespace mgcompare {

// `after_part` is called every few MiB.
void send_data(const HostSpan& hosts, const Dataset& data, const std::function<void()>& after_part);
// In this host's memory. Throws DataError if they do not fit.
Dataset receive_data(const HostSpan& hosts);

}  // namespace mgcompare
