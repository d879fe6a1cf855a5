// A reader of Parquet files that are not compressed, from Thrift's compact protocol and the format
// specification of Apache Parquet. Whatever is not as they say fails the test.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "view_file.h"

namespace h5mount::test {

// A value of Thrift: a struct has fields, a list has items.
struct Thrift {
  std::map<int, Thrift> fields = {};
  std::vector<Thrift> items = {};
  std::int64_t number = 0;
  std::string text = {};

  bool has(int field) const { return fields.contains(field); }
  const Thrift& operator[](int field) const { return fields.at(field); }
};

class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  std::size_t used() const { return at_; }
  Thrift structure() {
    Thrift out;
    for (int field = 0;;) {
      const unsigned head = byte();
      if (head == 0) return out;
      field = head >> 4 != 0 ? field + static_cast<int>(head >> 4) : static_cast<int>(signed_number());
      out.fields[field] = value(head & 0xF);
    }
  }
  std::uint64_t varint() {
    std::uint64_t out = 0;
    for (unsigned shift = 0;; shift += 7) {
      const unsigned next = byte();
      out |= std::uint64_t{next & 0x7FU} << shift;
      if (next < 0x80) return out;
    }
  }

 private:
  unsigned byte() { return static_cast<unsigned char>(bytes_.at(at_++)); }
  std::int64_t signed_number() {
    const std::uint64_t zigzag = varint();
    return static_cast<std::int64_t>(zigzag >> 1) ^ -static_cast<std::int64_t>(zigzag & 1);
  }
  Thrift value(unsigned type) {
    Thrift out;
    if (type == 1 || type == 2)
      out.number = type == 1 ? 1 : 0;
    else if (type >= 4 && type <= 6)
      out.number = signed_number();
    else if (type == 8) {
      const auto length = static_cast<std::size_t>(varint());
      out.text = bytes_.substr(at_, length);
      at_ += length;
    } else if (type == 9) {
      const unsigned head = byte();
      const std::uint64_t count = head >> 4 == 15 ? varint() : head >> 4;
      for (std::uint64_t i = 0; i < count; ++i) out.items.push_back(value(head & 0xF));
    } else if (type == 12) {
      out = structure();
    } else {
      ADD_FAILURE() << "no type of Thrift that Parquet has here: " << type;
    }
    return out;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

class ParquetDecoder {
 public:
  static constexpr int kPlain = 0, kRle = 3, kDictionary = 8;

  explicit ParquetDecoder(std::string bytes) : bytes_(std::move(bytes)) {
    EXPECT_EQ(bytes_.substr(0, 4), "PAR1");
    EXPECT_EQ(bytes_.substr(bytes_.size() - 4), "PAR1");
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i)
      length |= std::size_t{static_cast<unsigned char>(bytes_[bytes_.size() - 8 + i])} << (8 * i);
    footer_at_ = bytes_.size() - 8 - length;
    ThriftReader thrift(std::string_view(bytes_).substr(footer_at_, length));
    footer_ = thrift.structure();
    EXPECT_EQ(thrift.used(), length);
    EXPECT_EQ(footer_[1].number, 1) << "version";
    EXPECT_EQ(schema(0)[5].number, static_cast<std::int64_t>(columns())) << "the root's children";
  }

  std::int64_t rows() const { return footer_[3].number; }
  std::size_t columns() const { return footer_[2].items.size() - 1; }
  std::size_t groups() const { return footer_[4].items.size(); }
  // Of a column, counted from 1; 0 is the root.
  const Thrift& schema(std::size_t column) const { return footer_[2].items.at(column); }
  std::map<std::string, std::string> key_values() const {
    std::map<std::string, std::string> out;
    if (footer_.has(5))
      for (const Thrift& pair : footer_[5].items) out[pair[1].text] = pair[2].text;
    return out;
  }

  // The bytes of a column's values in PLAIN encoding, those of all row groups; the indices of a dictionary
  // are the values that they stand for. Chunks must follow one another without a gap.
  std::string values(std::size_t column) {
    std::string out;
    std::int64_t at = 4, rows = 0;
    for (const Thrift& group : footer_[4].items) {
      EXPECT_EQ(group[1].items.size(), columns());
      const std::int64_t begin = at;
      for (std::size_t i = 0; i < columns(); ++i) {
        const Thrift& chunk = group[1].items[i];
        EXPECT_EQ(chunk[2].number, at) << "file_offset";
        if (i + 1 == column) out += chunk_values(chunk[3], at, group[3].number, schema(column));
        at += chunk[3][7].number;
      }
      EXPECT_EQ(group[2].number, at - begin) << "total_byte_size";
      rows += group[3].number;
    }
    EXPECT_EQ(at, static_cast<std::int64_t>(footer_at_));
    EXPECT_EQ(rows, this->rows());
    return out;
  }

 private:
  struct Page {
    Thrift header;
    std::string body;
    std::int64_t end = 0;
  };
  Page page_at(std::int64_t offset) const {
    ThriftReader thrift(std::string_view(bytes_).substr(static_cast<std::size_t>(offset)));
    Page page;
    page.header = thrift.structure();
    EXPECT_EQ(page.header[2].number, page.header[3].number) << "not compressed";
    const std::size_t begin = static_cast<std::size_t>(offset) + thrift.used();
    page.body = bytes_.substr(begin, static_cast<std::size_t>(page.header[3].number));
    page.end = static_cast<std::int64_t>(begin) + page.header[3].number;
    return page;
  }

  std::string chunk_values(const Thrift& meta, std::int64_t at, std::int64_t rows,
                           const Thrift& column) const {
    EXPECT_EQ(meta[1].number, column[1].number) << "type";
    EXPECT_EQ(meta[3].items.at(0).text, column[4].text) << "path";
    EXPECT_EQ(meta[4].number, 0) << "codec";
    EXPECT_EQ(meta[5].number, rows);
    EXPECT_EQ(meta[6].number, meta[7].number);
    const std::int64_t end = at + meta[7].number;
    std::vector<std::string> names;
    if (meta.has(11)) {
      EXPECT_EQ(meta[11].number, at) << "dictionary_page_offset";
      const Page page = page_at(at);
      EXPECT_EQ(page.header[1].number, 2) << "a dictionary";
      names = texts(page.body);
      EXPECT_EQ(page.header[7][1].number, static_cast<std::int64_t>(names.size()));
      at = page.end;
    }
    EXPECT_EQ(meta[9].number, at) << "data_page_offset";
    const Page page = page_at(at);
    EXPECT_EQ(page.end, end);
    EXPECT_EQ(page.header[1].number, 0) << "a data page";
    EXPECT_EQ(page.header[5][1].number, rows);
    EXPECT_EQ(page.header[5][2].number, meta.has(11) ? kDictionary : kPlain);
    return meta.has(11) ? looked_up(page.body, names, rows) : page.body;
  }

  static std::vector<std::string> texts(std::string_view plain) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < plain.size();) {
      std::size_t length = 0;
      for (std::size_t i = 0; i < 4; ++i)
        length |= std::size_t{static_cast<unsigned char>(plain.at(at + i))} << (8 * i);
      out.emplace_back(plain.substr(at + 4, length));
      at += 4 + length;
    }
    return out;
  }

  // Bit-packed runs of indices whose width is whole bytes.
  static std::string looked_up(std::string_view body, const std::vector<std::string>& names,
                               std::int64_t rows) {
    const auto width = static_cast<std::size_t>(static_cast<unsigned char>(body.at(0)));
    EXPECT_EQ(width % 8, 0U);
    ThriftReader run(body.substr(1));
    const std::uint64_t header = run.varint();
    EXPECT_EQ(header & 1, 1U) << "a bit-packed run";
    EXPECT_EQ(header >> 1, static_cast<std::uint64_t>(rows + 7) / 8) << "groups of eight";
    const std::string_view packed = body.substr(1 + run.used());
    EXPECT_EQ(packed.size(), (header >> 1) * width);
    std::string out;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
      std::size_t index = 0;
      for (std::size_t byte = 0; byte < width / 8; ++byte)
        index |= std::size_t{static_cast<unsigned char>(packed.at(i * width / 8 + byte))} << (8 * byte);
      out += number(names.at(index).size(), 4) + names.at(index);
    }
    return out;
  }

  std::string bytes_;
  std::size_t footer_at_ = 0;
  Thrift footer_;
};

}  // namespace h5mount::test
