// The module that downloads data sets. Only workers that download open it.

#include "https/transfer.h"

extern "C" __attribute__((visibility("default"))) mgcompare::Transfer mgcompare_transfer() { return mgcompare::transfer_by_https; }
