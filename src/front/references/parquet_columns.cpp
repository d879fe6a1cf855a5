#include "parquet_columns.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "h5mount/base/bytes.h"

namespace h5mount::front {

namespace {

// parquet.thrift
constexpr std::int64_t kInt64 = 2, kByteArray = 6, kUncompressed = 0, kPlain = 0, kPlainDictionary = 2,
                       kRleDictionary = 8, kDictionaryPage = 2, kDataPage = 0, kOptional = 1;

Error not_parquet(std::string_view what) {
  return {ErrorCode::InvalidValue, "Parquet: " + std::string(what)};
}

// Reads the bytes from a place on; whatever it is asked for behind their end is zero, and `ok` false.
class Reader {
 public:
  Reader(std::string_view bytes, std::uint64_t at)
      : bytes_(bytes), at_(at <= bytes.size() ? static_cast<std::size_t>(at) : bytes.size()) {
    ok_ = at <= bytes.size();
  }
  bool ok() const { return ok_; }
  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  std::string_view take(std::uint64_t count) {
    ok_ = ok_ && count <= left();
    if (!ok_) return {};
    at_ += static_cast<std::size_t>(count);
    return bytes_.substr(at_ - static_cast<std::size_t>(count), static_cast<std::size_t>(count));
  }
  std::uint64_t little_endian(std::size_t bytes) {
    const std::string_view taken = take(bytes);
    std::uint64_t value = 0;
    if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && ok_; shift += 7) {
      const std::uint64_t byte = little_endian(1);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t zigzag() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
  }

 private:
  std::string_view bytes_;
  std::size_t at_;
  bool ok_;
};

// A value of Thrift's compact protocol.
struct Thrift {
  std::int64_t number = 0;
  std::string_view text;
  std::vector<Thrift> list;
  std::map<int, Thrift> fields;

  const Thrift& operator[](int field) const {
    static const Thrift none;
    const auto found = fields.find(field);
    return found == fields.end() ? none : found->second;
  }
};

bool read_thrift(Reader& in, unsigned kind, unsigned levels, Thrift& out) {  // NOLINT(misc-no-recursion)
  constexpr unsigned kTrue = 1, kFalse = 2, kByte = 3, kI64 = 6, kDouble = 7, kBinary = 8, kList = 9,
                     kSet = 10, kStruct = 12, kLong = 15;
  if (levels == 0 || !in.ok()) return false;
  if (kind == kTrue || kind == kFalse) return out.number = kind == kTrue, true;
  if (kind == kByte) return in.take(1), in.ok();
  if (kind > kByte && kind <= kI64) return out.number = in.zigzag(), in.ok();
  if (kind == kDouble) return in.take(8), in.ok();
  if (kind == kBinary) return out.text = in.take(in.varint()), in.ok();
  if (kind == kList || kind == kSet) {
    const auto head = static_cast<unsigned>(in.little_endian(1));
    const std::uint64_t count = head >> 4 == kLong ? in.varint() : head >> 4;
    if (!in.ok() || count > in.left()) return false;  // each takes a byte at least
    out.list.resize(static_cast<std::size_t>(count));
    for (Thrift& one : out.list)
      if (!read_thrift(in, head & kLong, levels - 1, one)) return false;
    return true;
  }
  if (kind != kStruct) return false;
  for (int field = 0;;) {
    const auto head = static_cast<unsigned>(in.little_endian(1));
    if (!in.ok()) return false;
    if (head == 0) return true;
    field = head >> 4 == 0 ? static_cast<int>(in.zigzag()) : field + static_cast<int>(head >> 4);
    if (!read_thrift(in, head & kLong, levels - 1, out.fields[field])) return false;
  }
}

Result<Thrift> read_struct(Reader& in) {
  constexpr unsigned kStruct = 12, kLevels = 12;
  Thrift out;
  if (!read_thrift(in, kStruct, kLevels, out)) return fail(not_parquet("metadata that ends early"));
  return out;
}

// Runs of equal values and bit-packed ones: `count` values of so many bits each.
bool read_runs(Reader& in, unsigned bits, std::size_t count, std::vector<std::uint32_t>& out) {
  if (bits > 32) return false;
  while (out.size() < count) {
    const std::uint64_t header = in.varint();
    const std::uint64_t length = (header & 1) == 0 ? header >> 1 : (header >> 1) * 8;
    if (!in.ok() || length == 0) return false;
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(length, count - out.size()));
    if ((header & 1) == 0) {
      const auto value = static_cast<std::uint32_t>(in.little_endian((bits + 7) / 8));
      out.insert(out.end(), some, value);
      continue;
    }
    if (bits > 0 && (header >> 1) > in.left()) return false;
    if (bits == 0) {
      out.insert(out.end(), some, 0);
      continue;
    }
    const std::string_view packed = in.take((header >> 1) * bits);
    if (!in.ok()) return false;
    for (std::size_t i = 0; i < some; ++i) {
      std::uint64_t value = 0;
      const std::size_t bit = i * bits;
      std::memcpy(&value, packed.data() + bit / 8, std::min<std::size_t>(8, packed.size() - bit / 8));
      out.push_back(static_cast<std::uint32_t>(value >> bit % 8 & ((1ULL << bits) - 1)));
    }
  }
  return in.ok();
}

ParquetCell plain_value(Reader& in, std::int64_t physical) {
  if (physical == kInt64) return static_cast<std::int64_t>(in.little_endian(8));
  return in.take(in.little_endian(4));
}

// The values of a column in a row group.
Status read_chunk(std::string_view file, const Thrift& column, bool optional, std::size_t rows,
                  std::vector<ParquetCell>& out) {
  const std::int64_t physical = column[1].number;
  if ((physical != kInt64 && physical != kByteArray) || column[4].number != kUncompressed)
    return fail(not_parquet("a column that is compressed, or neither of bytes nor of numbers of 64 bits"));
  std::vector<ParquetCell> names;
  auto at = static_cast<std::uint64_t>(column.fields.contains(11) ? column[11].number : column[9].number);
  for (std::size_t left = rows; left > 0;) {
    Reader in(file, at);
    H5_ASSIGN(const Thrift header, read_struct(in));
    const auto bytes = static_cast<std::uint64_t>(header[3].number);
    if (bytes > in.left()) return fail(not_parquet("a page that ends behind the file"));
    at = in.at() + bytes;
    Reader page(file.substr(0, static_cast<std::size_t>(at)), in.at());
    if (header[1].number == kDictionaryPage) {
      const auto count = static_cast<std::uint64_t>(header[7][1].number);
      if (count > bytes) return fail(not_parquet("a dictionary that is too short"));
      for (std::uint64_t i = 0; i < count; ++i) names.push_back(plain_value(page, physical));
      if (!page.ok()) return fail(not_parquet("a dictionary that ends early"));
      continue;
    }
    const auto count = static_cast<std::uint64_t>(header[5][1].number);
    if (header[1].number != kDataPage || count == 0 || count > left)
      return fail(not_parquet("a page that is not known"));
    left -= static_cast<std::size_t>(count);
    std::vector<std::uint32_t> levels;
    if (optional) {
      const std::uint64_t length = page.little_endian(4);
      Reader runs(page.take(length), 0);
      if (!page.ok() || !read_runs(runs, 1, static_cast<std::size_t>(count), levels))
        return fail(not_parquet("levels that end early"));
    } else {
      levels.assign(static_cast<std::size_t>(count), 1);
    }
    const auto present = static_cast<std::size_t>(std::ranges::count(levels, 1U));
    const std::int64_t encoding = header[5][2].number;
    std::vector<std::uint32_t> indices;
    if (encoding == kRleDictionary || encoding == kPlainDictionary) {
      const auto bits = static_cast<unsigned>(page.little_endian(1));
      if (!read_runs(page, bits, present, indices)) return fail(not_parquet("indices that end early"));
    } else if (encoding != kPlain) {
      return fail(not_parquet("an encoding that is not known"));
    }
    std::size_t next = 0;
    for (const std::uint32_t level : levels) {
      if (level == 0) {
        out.emplace_back();
      } else if (encoding == kPlain) {
        out.push_back(plain_value(page, physical));
      } else {
        const std::uint32_t index = indices[next++];
        if (index >= names.size()) return fail(not_parquet("an index of no name"));
        out.push_back(names[index]);
      }
    }
    if (!page.ok()) return fail(not_parquet("values that end early"));
  }
  return {};
}

}  // namespace

Result<std::vector<ParquetColumnCells>> read_parquet_columns(std::string_view file, std::size_t most_rows) {
  constexpr std::string_view kMagic = "PAR1";
  constexpr std::size_t kEnd = 8;
  if (file.size() < kEnd + kMagic.size() || !file.starts_with(kMagic) || !file.ends_with(kMagic))
    return fail(not_parquet("no such file"));
  const std::uint64_t length = Reader(file, file.size() - kEnd).little_endian(4);
  if (length > file.size() - kEnd) return fail(not_parquet("a footer that is longer than the file"));
  Reader in(file.substr(0, file.size() - kEnd), file.size() - kEnd - length);
  H5_ASSIGN(const Thrift footer, read_struct(in));
  std::vector<ParquetColumnCells> out;
  std::vector<bool> optional;
  const std::vector<Thrift>& schema = footer[2].list;
  for (std::size_t i = 1; i < schema.size(); ++i) {
    out.push_back({std::string(schema[i][4].text), {}});
    optional.push_back(schema[i][3].number == kOptional);
  }
  std::size_t rows = 0;
  for (const Thrift& group : footer[4].list) {
    const auto of_group = static_cast<std::uint64_t>(group[3].number);
    if (of_group > most_rows - rows)
      return fail({ErrorCode::LimitExceeded, "Parquet: more rows than there can be"});
    rows += static_cast<std::size_t>(of_group);
    if (group[1].list.size() != out.size()) return fail(not_parquet("a row group without all columns"));
    for (std::size_t i = 0; i < out.size(); ++i)
      H5_TRY(read_chunk(file, group[1].list[i][3], optional[i], static_cast<std::size_t>(of_group),
                        out[i].cells));
  }
  return out;
}

}  // namespace h5mount::front
