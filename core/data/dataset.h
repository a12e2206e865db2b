#pragma once

// Labelled samples in host memory.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "mgcompare/error.h"
#include "config/sample_spec.h"

namespace mgcompare {

// Data is missing or invalid: a problem of the environment, not of the config. The message names file and position.
class DataError : public Error {
 public:
  using Error::Error;
};

// The data are not there, and cannot be downloaded. Everything else that is wrong is a plain DataError.
class DataMissing : public DataError {
 public:
  using DataError::DataError;
};

// Read-only bytes in memory or in a mapped file. Copies and slices share them.
class SharedBytes {
 public:
  SharedBytes() = default;
  explicit SharedBytes(std::vector<std::uint8_t> bytes);
  // `owner` keeps the bytes at `data` alive.
  SharedBytes(std::shared_ptr<const void> owner, const std::uint8_t* data, std::size_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  const std::uint8_t* data() const { return data_; }
  const std::uint8_t* begin() const { return data_; }
  const std::uint8_t* end() const { return data_ + size_; }
  std::uint8_t operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  SharedBytes slice(std::size_t begin, std::size_t end) const { return {owner_, data_ + begin, end - begin}; }

 private:
  std::shared_ptr<const void> owner_;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

// A file whose bytes are mapped, as it was when it was opened.
struct MappedFile {
  std::string path;
  std::shared_ptr<const Descriptor> opened;  // it leads to the file also after that was renamed or removed
  std::uint64_t size = 0;
  std::int64_t modified = 0, changed = 0;  // nanoseconds since 1970; the second one counts changes of attributes too
};

struct Split {
  std::size_t samples = 0;
  SharedBytes values;                  // samples x the product of the shape, little-endian, of the element type, aligned to it
  std::vector<std::uint32_t> targets;  // samples x targets per sample
};

struct Dataset {
  std::string name;                 // "mnist"
  std::string origin;               // a folder, "downloaded", "drawn with seed 1"
  std::string remark;               // a sentence that every result shows, on samples that are not what their use suggests
  std::string fingerprint;          // SHA-256 over both splits: a run is only resumed with the same data
  SampleSpec spec;
  std::size_t training_set = 0;     // training samples of the whole set, before the config's limits
  Split train;
  Split test;
  std::vector<MappedFile> mapped;   // the files whose bytes the splits share: who writes to them changes the samples
};

// Values and targets [begin, end) of the split.
Split part_of(const Split& split, std::size_t begin, std::size_t end);

// Throws DataMissing if errno `code` says that there is no file, and DataError otherwise.
[[noreturn]] void throw_not_opened(const std::string& path, int code);

// Throws DataError with both figures if `bytes` are more than the memory that is left.
void check_fits_memory(const std::string& what, double bytes);

}  // namespace mgcompare
