#pragma once

// One rank's part of a checkpoint, as its strategy sees it in save() and restore(). Names are the author's; they are
// separate for each rank and cannot clash with the program's. Called on the rank's thread, host-ordered: each call waits
// for the device and has finished when it returns. Not collective.
//
// put* copies, and replaces what has the same name. get* fills memory of the same type and length as at put*, and throws
// Error where the name is absent or the number of bytes differs. T is trivially copyable.

#include <string_view>

#include "mgcompare/types.h"

namespace mgcompare {

class Archive {
 public:
  virtual ~Archive() = default;
  // Memory of this rank's device.
  template <class T> void put(std::string_view name, Span<T> data) { write(name, data.data(), data.bytes(), false); }
  template <class T> void get(std::string_view name, Span<T> data) { read(name, data.data(), data.bytes(), false); }
  // Host memory.
  template <class T> void put_host(std::string_view name, Span<T> data) { write(name, data.data(), data.bytes(), true); }
  template <class T> void get_host(std::string_view name, Span<T> data) { read(name, data.data(), data.bytes(), true); }
  // One value.
  template <class T> void put_value(std::string_view name, const T& value) { write(name, &value, sizeof(T), true); }
  template <class T> void get_value(std::string_view name, T& value) { read(name, &value, sizeof(T), true); }

 protected:
  virtual void write(std::string_view name, const void* data, std::size_t bytes, bool on_host) = 0;
  virtual void read(std::string_view name, void* data, std::size_t bytes, bool on_host) = 0;
};

}  // namespace mgcompare
