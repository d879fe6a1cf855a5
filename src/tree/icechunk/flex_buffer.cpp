#include "flex_buffer.h"

#include <cstdint>

#include "h5mount/view/view.h"

namespace h5mount::tree {

namespace {

using view::append_le;

// Every number and offset has four bytes. An offset is the distance back to what it points to, from its own
// place.
constexpr std::size_t kWidth = 4;
constexpr std::uint8_t kWidthCode = 2;
constexpr std::uint8_t kKey = 4, kString = 5, kMap = 9, kVectorOfKeys = 14, kBool = 26;

struct Written {
  std::uint8_t type;
  bool in_place;  // the value itself; else its place
  std::uint64_t value;
};

class FlexWriter {
 public:
  Written write(const FlexValue& value) {
    if (const bool* const flag = std::get_if<bool>(&value.value)) return {kBool, true, *flag ? 1U : 0U};
    if (const auto* const text = std::get_if<std::string>(&value.value)) {
      number(text->size());
      const std::uint64_t at = out_.size();
      out_ += *text + '\0';
      align();
      return {kString, false, at};
    }
    return write_map(std::get<FlexValue::Map>(value.value));
  }

  std::string finish(const Written& root) && {
    put(root);
    out_ += static_cast<char>(root.type << 2 | kWidthCode);
    out_ += static_cast<char>(kWidth);
    return std::move(out_);
  }

 private:
  void number(std::uint64_t value) { append_le(value, kWidth, out_); }
  void align() { out_.resize((out_.size() + kWidth - 1) / kWidth * kWidth); }
  void put(const Written& one) { number(one.in_place ? one.value : out_.size() - one.value); }

  // A vector of keys, then: the distance to it, the width of its elements, the number of values, the values,
  // and a byte for the type of each.
  Written write_map(const FlexValue::Map& map) {
    std::vector<Written> keys, values;
    for (const auto& [key, value] : map) {
      keys.push_back({kKey, false, out_.size()});
      out_ += key + '\0';
      align();
      values.push_back(write(value));
    }
    number(keys.size());
    const std::uint64_t keys_at = out_.size();
    for (const Written& key : keys) put(key);
    put({kVectorOfKeys, false, keys_at});
    number(kWidth);
    number(values.size());
    const std::uint64_t at = out_.size();
    for (const Written& value : values) put(value);
    for (const Written& value : values) out_ += static_cast<char>(value.type << 2 | kWidthCode);
    align();
    return {kMap, false, at};
  }

  std::string out_;
};

}  // namespace

std::string flex_buffer(const FlexValue& value) {
  FlexWriter writer;
  const Written root = writer.write(value);
  return std::move(writer).finish(root);
}

}  // namespace h5mount::tree
