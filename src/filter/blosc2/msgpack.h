// The part of msgpack that Blosc 2 frames use. Integers are big-endian. Failures are sticky: afterwards every
// read returns zero or an empty span, and ok() is false.
#pragma once

#include "h5mount/base/bytes.h"

namespace h5mount::filter::blosc {

class MsgpackReader {
 public:
  explicit MsgpackReader(ByteSpan bytes) : bytes_(bytes) {}

  std::size_t read_array();  // number of elements; they follow
  std::size_t read_map();    // number of pairs
  std::int64_t read_integer();
  bool read_boolean();
  ByteSpan read_text();    // str
  ByteSpan read_binary();  // bin
  ByteSpan read_extension(std::uint8_t type);
  // An array's tag as Blosc 2 writes it: 0x90 + `elements`, even above the 15 that msgpack allows.
  void read_array_of(std::size_t elements);

  bool ok() const { return ok_; }
  std::size_t at() const { return at_; }

 private:
  std::uint8_t tag();
  std::uint64_t number(std::size_t width);  // big-endian
  ByteSpan take(std::uint64_t length);
  void refuse() { ok_ = false; }

  ByteSpan bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace h5mount::filter::blosc
