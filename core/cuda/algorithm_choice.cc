#include "cuda/algorithm_choice.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <sstream>

#include "base/descriptor.h"
#include "base/user_cache.h"
#include "cuda/clearing.h"
#include "cuda/status.h"

namespace mgcompare::cuda {
namespace {

constexpr char kWhat[] = "measuring the algorithms of a layer";
constexpr double kLongSeconds = 2e-3;
constexpr int kRuns = 10;           // in a graph

// Lines of a problem, a tab and an index.
class Choices {
 public:
  static Choices& shared() {
    static Choices choices;
    return choices;
  }

  std::mutex mutex;

  // `count` if it is unknown.
  std::size_t find(const std::string& key, std::size_t count) const {
    const auto found = known_.find(key);
    return found == known_.end() || found->second >= count ? count : found->second;
  }

  void add(const std::string& key, std::size_t index) {
    known_[key] = index;
    if (file_.empty()) return;
    std::error_code ignored;
    std::filesystem::create_directories(file_.parent_path(), ignored);
    const std::string line = key + '\t' + std::to_string(index) + '\n';
    // One write of a short line to a file that is opened for appending: processes do not mix their lines.
    const Descriptor file(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (file.number() >= 0 && ::write(file.number(), line.data(), line.size()) < 0) file_.clear();
  }

 private:
  Choices() {
    if (const std::string cache = user_cache(); !cache.empty()) file_ = cache + "/algorithms";
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) {
      const std::size_t tab = line.find('\t');
      std::istringstream number(tab == std::string::npos ? "" : line.substr(tab + 1));
      std::size_t index = 0;
      if (number >> index && number.eof()) known_[line.substr(0, tab)] = index;
    }
  }

  std::filesystem::path file_;
  std::map<std::string, std::size_t> known_;
};

// Times work on a stream. Short work is recorded as a CUDA graph of several runs, so that the host's time per launch, which can
// exceed the work, does not count; a training step is such a graph, too.
class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    check(cudaEventCreate(&begin_), kWhat);
    check(cudaEventCreate(&end_), kWhat);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  // Infinity if the work cannot be recorded.
  double seconds(const std::function<bool()>& run) {
    const double once = elapsed([&] { run(); });
    if (once > kLongSeconds) return once;
    Recording recording;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), kWhat);
    bool works = true;
    for (int k = 0; k < kRuns && works; ++k) works = run();
    works = cudaStreamEndCapture(stream_, &recording.graph) == cudaSuccess && works;
    if (works) clear_by_kernels(recording.graph);
    works = works && cudaGraphInstantiate(&recording.runnable, recording.graph, 0) == cudaSuccess;
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; works && round < 4; ++round)
      least = std::min(least, elapsed([&] { check(cudaGraphLaunch(recording.runnable, stream_), kWhat); }) / kRuns);
    return least;
  }

 private:
  struct Recording {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() {
      if (runnable != nullptr) cudaGraphExecDestroy(runnable);
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
    }
  };

  template <class F> double elapsed(F work) {
    check(cudaEventRecord(begin_, stream_), kWhat);
    work();
    check(cudaEventRecord(end_, stream_), kWhat);
    check(cudaEventSynchronize(end_), kWhat);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), kWhat);
    return milliseconds * 1e-3;
  }

  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

std::string device_name() {
  int index = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&index), kWhat);
  check(cudaGetDeviceProperties(&properties, index), kWhat);
  return properties.name;
}

}  // namespace

bool can_measure(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  check(cudaStreamIsCapturing(stream, &status), kWhat);
  return status == cudaStreamCaptureStatusNone;
}

std::size_t fastest_algorithm(cudaStream_t stream, const std::string& problem, std::size_t count,
                              const std::function<bool(std::size_t)>& run) {
  Choices& choices = Choices::shared();
  const std::string key = device_name() + ' ' + problem;
  const std::lock_guard lock(choices.mutex);
  if (const std::size_t known = choices.find(key, count); known < count) return known;
  Stopwatch watch(stream);
  std::size_t best = count;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t index = 0; index < count; ++index) {
    if (!run(index)) continue;  // also loads the kernel
    const double seconds = watch.seconds([&] { return run(index); });
    if (seconds >= least) continue;
    least = seconds;
    best = index;
  }
  if (best < count) choices.add(key, best);
  return best;
}

}  // namespace mgcompare::cuda
