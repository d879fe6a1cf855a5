// ThriftWriter: the parts of Apache Thrift's compact protocol that Parquet's metadata uses. Threads: one at a
// time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace h5mount::view {

class ThriftWriter {
 public:
  explicit ThriftWriter(std::string& out) : out_(out) {}

  // Fields of the innermost open struct, by ascending number.
  void i32(int field, std::int32_t value) { begin_field(field, kI32), zigzag(value); }
  void i64(int field, std::int64_t value) { begin_field(field, kI64), zigzag(value); }
  void flag(int field, bool value) { begin_field(field, value ? kTrue : kFalse); }
  void text(int field, std::string_view value) { begin_field(field, kBinary), element(value); }
  // The caller then writes the list's elements: element() for texts and numbers, begin() … end() for structs.
  void list_of_i32(int field, std::size_t count) { begin_list(field, kI32, count); }
  void list_of_texts(int field, std::size_t count) { begin_list(field, kBinary, count); }
  void list_of_structs(int field, std::size_t count) { begin_list(field, kStruct, count); }
  void element(std::string_view value) { varint(value.size()), out_ += value; }
  void element(std::int32_t value) { zigzag(value); }

  void begin() { last_.push_back(0); }  // the outermost struct, or one in a list
  void begin(int field) { begin_field(field, kStruct), begin(); }
  void end() { out_ += '\0', last_.pop_back(); }

 private:
  static constexpr unsigned kTrue = 1, kFalse = 2, kI32 = 5, kI64 = 6, kBinary = 8, kList = 9, kStruct = 12;

  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void zigzag(std::int64_t value) {
    varint(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  // The numbers of successive fields differ by less than 16.
  void begin_field(int field, unsigned type) {
    out_ += static_cast<char>(static_cast<unsigned>(field - last_.back()) << 4 | type);
    last_.back() = field;
  }
  void begin_list(int field, unsigned type, std::size_t count) {
    begin_field(field, kList);
    constexpr std::size_t kLongList = 15;
    if (count < kLongList) {
      out_ += static_cast<char>(count << 4 | type);
    } else {
      out_ += static_cast<char>(kLongList << 4 | type);
      varint(count);
    }
  }

  std::string& out_;
  std::vector<int> last_;  // number of the last field of each open struct
};

}  // namespace h5mount::view
