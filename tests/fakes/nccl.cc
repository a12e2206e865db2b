// An NCCL from before it had windows. The program must report its version.

#define FAKE(name) \
  extern "C" __attribute__((visibility("default"))) int name() { return 1; }

FAKE(ncclAllGather)
FAKE(ncclAllReduce)
FAKE(ncclBroadcast)
FAKE(ncclCommAbort)
FAKE(ncclCommInitRankConfig)
FAKE(ncclGroupEnd)
FAKE(ncclGetUniqueId)
FAKE(ncclGroupStart)
FAKE(ncclRecv)
FAKE(ncclReduce)
FAKE(ncclReduceScatter)
FAKE(ncclSend)

extern "C" __attribute__((visibility("default"))) const char* ncclGetErrorString(int) { return "fake"; }
extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  *version = 22605;
  return 0;
}
