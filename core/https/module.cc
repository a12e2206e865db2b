// The module that downloads data sets. Only a worker that needs one opens it.

#include "https/transfer.h"

extern "C" __attribute__((visibility("default"))) mgcompare::TransferFunction* mgcompare_transfer() { return &mgcompare::transfer_by_https; }
