#pragma once

// Reads a regular file, plain or compressed by gzip (one member or several, and zeros behind the last). Files are untrusted: a damaged or
// truncated stream is a DataError that names the file and the unpacked byte, and so are other bytes behind a member, which gzread() would
// ignore, and a file that unpacks to hundreds of times its size.

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/sha256.h"

namespace mgcompare {

class Unpacker {
 public:
  // Throws DataError if the file cannot be opened or is no regular file.
  explicit Unpacker(std::string path);
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // Reads `bytes`, or fewer at the end of the file.
  std::size_t read(void* into, std::size_t bytes);
  // Whether no byte is left. Checks the end of a gzip stream too.
  bool at_end();

  // Throws DataError about what was read. A damaged gzip stream holds wrong bytes before the checksum at its end is seen, so this
  // reads the rest of one first: if it is damaged, that is the error.
  [[noreturn]] void refuse(const std::string& why);

  const std::string& path() const { return path_; }
  // Of the next byte in the unpacked file.
  std::size_t offset() const { return offset_; }
  // Limit of the unpacked size, from the size of the file.
  std::size_t max_bytes();
  // The unpacked size as the file states it, without unpacking it; modulo 4 GiB for a packed file.
  std::size_t stated_bytes();
  // SHA-256 of the unpacked bytes that were read. Call it once, after the last read.
  std::string sha256() { return hash_.digest(); }

 private:
  // They return how many bytes they gave; fewer than asked for only at the end. read_file() gives bytes as they are in the file.
  std::size_t read_plain(std::uint8_t* into, std::size_t bytes);
  std::size_t unpack(std::uint8_t* into, std::size_t bytes);
  std::size_t read_file(std::uint8_t* into, std::size_t bytes) const;
  // Loads packed bytes if none are left. Returns false at the end of the file.
  bool load();
  // Begins the next member of the stream, if there is one.
  void end_member();
  [[noreturn]] void throw_damaged() const;
  // Of a gzip stream, up to the limit.
  void read_rest();
  // Of the unpacked bytes of a compressed file of this size.
  std::size_t limit() const;

  std::string path_;
  int descriptor_ = -1;
  bool packed_ = false;
  z_stream stream_{};               // reads from packed_bytes_
  std::vector<std::uint8_t> packed_bytes_;
  std::size_t loaded_ = 0;          // packed bytes, so far
  bool ended_ = false;              // behind the last member
  std::size_t size_ = 0;
  std::size_t offset_ = 0;
  Sha256 hash_;
};

}  // namespace mgcompare
