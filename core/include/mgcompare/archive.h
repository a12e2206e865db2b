#pragma once

// Where a strategy keeps its state between two runs of an interrupted trial: one archive a rank. Names are the author's.

#include <string_view>

#include "mgcompare/types.h"

namespace mgcompare {

class Archive {
 public:
  virtual ~Archive() = default;
  // Device memory of this rank's device. Reading throws Error when the name is absent or its length differs.
  template <class T> void put(std::string_view name, Span<T> data) { write(name, data.data(), data.bytes(), false); }
  template <class T> void get(std::string_view name, Span<T> data) { read(name, data.data(), data.bytes(), false); }
  // Host memory and plain values.
  template <class T> void put_host(std::string_view name, Span<T> data) { write(name, data.data(), data.bytes(), true); }
  template <class T> void get_host(std::string_view name, Span<T> data) { read(name, data.data(), data.bytes(), true); }
  template <class T> void put_value(std::string_view name, const T& value) { write(name, &value, sizeof(T), true); }
  template <class T> void get_value(std::string_view name, T& value) { read(name, &value, sizeof(T), true); }

 protected:
  virtual void write(std::string_view name, const void* data, std::size_t bytes, bool on_host) = 0;
  virtual void read(std::string_view name, void* data, std::size_t bytes, bool on_host) = 0;
};

}  // namespace mgcompare
