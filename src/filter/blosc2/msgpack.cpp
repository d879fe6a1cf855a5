#include "msgpack.h"

namespace h5mount::filter::blosc {

ByteSpan MsgpackReader::take(std::uint64_t length) {
  if (!ok_ || length > bytes_.size() - at_) {
    ok_ = false;
    return {};
  }
  const ByteSpan taken = bytes_.subspan(at_, static_cast<std::size_t>(length));
  at_ += taken.size();
  return taken;
}

std::uint8_t MsgpackReader::tag() {
  const ByteSpan byte = take(1);
  return byte.empty() ? std::uint8_t{0xc1} : std::to_integer<std::uint8_t>(byte[0]);  // 0xc1 is never used
}

std::uint64_t MsgpackReader::number(std::size_t width) {
  std::uint64_t value = 0;
  for (const std::byte byte : take(width)) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

std::size_t MsgpackReader::read_array() {
  const std::uint8_t is = tag();
  if ((is & 0xf0) == 0x90) return is & 0x0fU;
  if (is == 0xdc) return number(2);
  if (is == 0xdd) return number(4);
  refuse();
  return 0;
}

void MsgpackReader::read_array_of(std::size_t elements) {
  if (!ok_ || at_ == bytes_.size()) return refuse();
  if (std::to_integer<std::size_t>(bytes_[at_]) == ((0x90 + elements) & 0xff)) {
    ++at_;
  } else if (read_array() != elements) {
    refuse();
  }
}

std::size_t MsgpackReader::read_map() {
  const std::uint8_t is = tag();
  if ((is & 0xf0) == 0x80) return is & 0x0fU;
  if (is == 0xde) return number(2);
  if (is == 0xdf) return number(4);
  refuse();
  return 0;
}

std::int64_t MsgpackReader::read_integer() {
  const std::uint8_t is = tag();
  if (is < 0x80 || is >= 0xe0) return static_cast<std::int8_t>(is);
  switch (is) {
    case 0xcc:
      return static_cast<std::int64_t>(number(1));
    case 0xcd:
      return static_cast<std::int64_t>(number(2));
    case 0xce:
      return static_cast<std::int64_t>(number(4));
    case 0xcf:
      return static_cast<std::int64_t>(number(8));
    case 0xd0:
      return static_cast<std::int8_t>(number(1));
    case 0xd1:
      return static_cast<std::int16_t>(number(2));
    case 0xd2:
      return static_cast<std::int32_t>(number(4));
    case 0xd3:
      return static_cast<std::int64_t>(number(8));
    default:
      refuse();
      return 0;
  }
}

bool MsgpackReader::read_boolean() {
  const std::uint8_t is = tag();
  if (is != 0xc2 && is != 0xc3) refuse();
  return is == 0xc3;
}

ByteSpan MsgpackReader::read_text() {
  const std::uint8_t is = tag();
  if ((is & 0xe0) == 0xa0) return take(is & 0x1fU);
  if (is == 0xd9) return take(number(1));
  if (is == 0xda) return take(number(2));
  if (is == 0xdb) return take(number(4));
  refuse();
  return {};
}

ByteSpan MsgpackReader::read_binary() {
  const std::uint8_t is = tag();
  if (is == 0xc4) return take(number(1));
  if (is == 0xc5) return take(number(2));
  if (is == 0xc6) return take(number(4));
  refuse();
  return {};
}

ByteSpan MsgpackReader::read_extension(std::uint8_t type) {
  const std::uint8_t is = tag();
  std::uint64_t length = 0;
  if (is >= 0xd4 && is <= 0xd8) {
    length = std::uint64_t{1} << (is - 0xd4);
  } else if (is >= 0xc7 && is <= 0xc9) {
    length = number(std::size_t{1} << (is - 0xc7));
  } else {
    refuse();
  }
  if (number(1) != type) refuse();
  return take(length);
}

}  // namespace h5mount::filter::blosc
