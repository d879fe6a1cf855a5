#include "parquet_dictionary.h"

#include <array>
#include <cstring>

#include "../table/table.h"
#include "h5mount/base/bytes.h"
#include "h5mount/base/utf8.h"

namespace h5mount::view {

namespace {

constexpr std::uint64_t kGroup = 8;  // values of a bit-packed run are counted in groups
constexpr std::size_t kLengthBytes = 4;

void append_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_name(std::string_view name, ParquetDictionary& to) {
  append_le(name.size(), kLengthBytes, to.page);
  to.page += name;
  ++to.count;
  to.utf8 = to.utf8 && is_utf8(name);
}

}  // namespace

std::uint64_t dictionary_bytes(const object::Categories& categories) {
  return categories.text.size() + categories.count() * kLengthBytes;
}

std::uint64_t most_dictionary_bytes(const format::Datatype& type) {
  constexpr std::uint64_t kNumber = 4;  // -128
  std::uint64_t bytes = 256 * (kLengthBytes + kNumber);
  for (const format::EnumMember& member : type.enum_members) bytes += member.name.size();
  return bytes;
}

Result<ParquetDictionaryPtr> enum_dictionary(const format::Datatype& type) {
  std::array<const std::string*, 256> names{};
  for (const format::EnumMember& member : type.enum_members) {
    const std::string*& name = names[std::to_integer<std::size_t>(member.value.at(0))];
    if (name == nullptr)
      name = &member.name;  // the first of those that share a value, as in the other tables
  }
  auto out = std::make_shared<ParquetDictionary>();
  for (std::size_t value = 0; value < names.size(); ++value) {
    if (names[value] != nullptr) {
      append_name(*names[value], *out);
      continue;
    }
    const auto stored = static_cast<std::byte>(value);
    std::string number;
    H5_TRY(text::append_json(*type.base, {&stored, 1}, {{}, Unbounded()}, number));
    append_name(number, *out);
  }
  return out;
}

ParquetDictionaryPtr category_dictionary(const object::Categories& categories) {
  auto out = std::make_shared<ParquetDictionary>();
  out->page.reserve(static_cast<std::size_t>(dictionary_bytes(categories)));
  for (std::uint64_t i = 0; i < categories.count(); ++i) append_name(categories.name(i), *out);
  return out;
}

std::uint32_t index_bytes(std::uint64_t names) {
  return names <= 1U << 8 ? 1 : names <= 1U << 16 ? 2 : 3;
}

std::string run_header(std::uint64_t rows) {
  std::string out;
  append_varint(divide_up(rows, kGroup) << 1 | 1, out);
  return out;
}

std::uint64_t index_page_bytes(const ParquetColumn& column, std::uint64_t rows) {
  const std::uint64_t groups = divide_up(rows, kGroup), header = run_header(rows).size();
  return level_bytes(column, rows) + 1 + header + groups * kGroup * column.value_bytes;
}

std::uint64_t level_bytes(const ParquetColumn& column, std::uint64_t rows) {
  return column.optional ? kLengthBytes + run_header(rows).size() + divide_up(rows, kGroup) : 0;
}

ParquetLevels::ParquetLevels(const ParquetColumn& column, std::uint64_t rows, std::string& out) : out_(out) {
  if (!column.optional) return;
  const std::string header = run_header(rows);
  const auto groups = static_cast<std::size_t>(divide_up(rows, kGroup));
  append_le(header.size() + groups, kLengthBytes, out);
  out += header;
  bits_ = out.size();
  out.append(groups, '\0');
}

Status append_indices(const ParquetColumn& column, std::uint64_t first, ByteSpan rows,
                      std::uint64_t row_bytes, std::string& out) {
  const std::uint64_t count = rows.size() / row_bytes;
  const auto groups = static_cast<std::size_t>(divide_up(count, kGroup));
  const std::string header = run_header(count);
  ParquetLevels levels(column, count, out);
  out += static_cast<char>(8 * column.value_bytes);
  out += header;
  std::size_t to = out.size();
  out.append(groups * kGroup * column.value_bytes, '\0');
  const std::byte* at = rows.data() + column.offset;
  for (std::size_t i = 0; i < count; ++i, at += row_bytes) {
    if (column.is_masked(rows.data() + i * row_bytes)) continue;
    std::uint64_t index = std::to_integer<std::uint64_t>(*at);
    if (column.categories) {
      H5_ASSIGN(const auto place, category_of(*column.type, at, *column.categories));
      if (!place) continue;
      index = *place - first;
    }
    levels.set_present(i);
    std::memcpy(out.data() + to, &index, column.value_bytes);
    to += column.value_bytes;
  }
  return {};
}

}  // namespace h5mount::view
