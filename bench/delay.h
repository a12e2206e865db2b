#pragma once

// Work that takes a given time, for measurements of what a known delay changes.

#include "mgcompare/device.h"

namespace mgcompare {

// Keeps the host busy.
void delay_host(double seconds);

// Queues such work where the rank's exchange runs (`in_exchange`), or else behind its other work. On a CPU device the host is busy.
// Throws Error.
void delay_device(Device& device, double seconds, bool in_exchange);

}  // namespace mgcompare
