// TIFF 6.0, and the form of it with offsets of 8 bytes, read back tag by tag.
#include <gtest/gtest.h>

#include <map>

#include "view_file.h"

namespace h5mount::test {
namespace {

const ViewFile& images() {
  static const ViewFile file(written_by_program("view/fixtures/images.py"));
  return file;
}

enum Tag : std::uint16_t {
  kWidth = 256,
  kHeight = 257,
  kBitsPerSample = 258,
  kCompression = 259,
  kPhotometric = 262,
  kStripOffsets = 273,
  kSamplesPerPixel = 277,
  kRowsPerStrip = 278,
  kStripByteCounts = 279,
  kXResolution = 282,
  kYResolution = 283,
  kPlanarConfiguration = 284,
  kResolutionUnit = 296,
  kColorMap = 320,
  kExtraSamples = 338,
  kSampleFormat = 339,
};
using Tags = std::map<int, std::vector<std::uint64_t>>;

class TiffReader {
 public:
  explicit TiffReader(const view::ComputedFile& file) : file_(file) {
    const std::string order = bytes_of(file, 0, 2);
    big_endian_ = order == "MM";
    EXPECT_TRUE(big_endian_ || order == "II") << order;
    const std::uint64_t version = number_at(2, 2);
    big_ = version == 43;
    EXPECT_TRUE(big_ || version == 42) << version;
    if (big_) EXPECT_EQ(number_at(4, 2), 8U);
    if (big_) EXPECT_EQ(number_at(6, 2), 0U);
    const std::size_t offset_bytes = big_ ? 8 : 4;
    for (std::uint64_t at = number_at(offset_bytes, offset_bytes); at != 0;) at = read_directory(at);
  }

  const std::vector<Tags>& pages() const { return pages_; }
  bool big() const { return big_; }
  std::string strip(std::size_t page) const {
    const Tags& tags = pages_.at(page);
    return bytes_of(file_, tags.at(kStripOffsets).at(0), tags.at(kStripByteCounts).at(0));
  }

 private:
  std::uint64_t number_at(std::uint64_t at, std::size_t bytes) const {
    const std::string text = bytes_of(file_, at, bytes);
    EXPECT_EQ(text.size(), bytes) << "beyond the end, at " << at;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
      value |= std::uint64_t{static_cast<unsigned char>(text[big_endian_ ? text.size() - 1 - i : i])}
               << (8 * i);
    return value;
  }

  std::vector<std::uint64_t> values(std::uint64_t entry) const {
    const std::size_t field = big_ ? 8 : 4;
    const std::map<std::uint64_t, std::size_t> widths{{3, 2}, {4, 4}, {5, 8}, {16, 8}};
    const std::uint64_t type = number_at(entry + 2, 2);
    const std::size_t width = widths.at(type), parts = type == 5 ? 2 : 1;  // a rational is two numbers
    const std::uint64_t count = number_at(entry + 4, field);
    const std::uint64_t place = entry + 4 + field;
    std::uint64_t at = count * width <= field ? place : number_at(place, field);
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < count * parts; ++i, at += width / parts)
      out.push_back(number_at(at, width / parts));
    return out;
  }

  // The offset of the next one, 0 after the last.
  std::uint64_t read_directory(std::uint64_t at) {
    EXPECT_EQ(at % 2, 0U) << "a directory begins at a word";
    const std::size_t counted = big_ ? 8 : 2, entry = big_ ? 20 : 12;
    const std::uint64_t count = number_at(at, counted);
    Tags& tags = pages_.emplace_back();
    at += counted;
    for (std::uint64_t i = 0; i < count; ++i, at += entry) {
      const auto tag = static_cast<int>(number_at(at, 2));
      EXPECT_TRUE(tags.empty() || tags.rbegin()->first < tag) << "entries are in the order of their tags";
      tags[tag] = values(at);
    }
    return pages_.size() < 100 ? number_at(at, big_ ? 8 : 4) : 0;
  }

  const view::ComputedFile& file_;
  bool big_endian_ = false, big_ = false;
  std::vector<Tags> pages_;
};

// The tags of a page of one sample a pixel, unsigned.
Tags gray_tags(std::uint64_t width, std::uint64_t height, std::uint64_t bits, std::uint64_t page) {
  const std::uint64_t bytes = width * height * bits / 8;
  return {{kWidth, {width}},
          {kHeight, {height}},
          {kBitsPerSample, {bits}},
          {kCompression, {1}},
          {kPhotometric, {1}},  // black is zero
          {kStripOffsets, {4096 + page * bytes}},
          {kSamplesPerPixel, {1}},
          {kRowsPerStrip, {height}},
          {kStripByteCounts, {bytes}},
          {kXResolution, {1, 1}},
          {kYResolution, {1, 1}},
          {kPlanarConfiguration, {1}},
          {kResolutionUnit, {1}}};
}

// The file's pages have these tags, the image lies at 4096, and any range of the file can be read.
void expect_tiff(std::string_view path, const std::vector<Tags>& pages, std::string_view image) {
  SCOPED_TRACE(path);
  const auto file = images().open("tiff", path);
  const TiffReader tiff(*file);
  EXPECT_FALSE(tiff.big());
  ASSERT_EQ(tiff.pages().size(), pages.size());
  std::string strips;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    EXPECT_EQ(tiff.pages()[i], pages[i]) << "page " << i;
    strips += tiff.strip(i);
  }
  EXPECT_EQ(strips, image);
  expect_file(*file, all_of(*file));
}

TEST(TiffView, AGrayImage) {
  expect_tiff("gray", {gray_tags(3, 2, 8, 0)}, numbers({0, 1, 2, 3, 4, 5}, 1));
}

TEST(TiffView, HasTheByteOrderOfTheNumbers) {
  EXPECT_EQ(bytes_of(*images().open("tiff", "gray"), 0, 4), std::string("II\x2A\0", 4));
  EXPECT_EQ(bytes_of(*images().open("tiff", "big_endian"), 0, 4), std::string("MM\0\x2A", 4));
  expect_tiff("big_endian", {gray_tags(3, 2, 16, 0)},
              numbers({0, 1000, 2000, 3000, 4000, 5000}, 2, Order::Big));
}

TEST(TiffView, SaysWhatKindOfNumbersItHas) {
  Tags of_signed = gray_tags(3, 1, 16, 0), of_doubles = gray_tags(1, 2, 64, 0);
  of_signed[kSampleFormat] = {2};
  of_doubles[kSampleFormat] = {3};
  expect_tiff("signed", {of_signed}, numbers({0xFFFF, 2, 0xFFFD}, 2));
  expect_tiff("doubles", {of_doubles}, numbers({0x3FE0000000000000, 0xC000000000000000}, 8, Order::Big));
}

TEST(TiffView, StacksArePages) {
  std::vector<Tags> pages;
  std::vector<std::uint64_t> values;
  for (std::uint64_t page = 0; page < 5; ++page) pages.push_back(gray_tags(2, 3, 32, page));
  for (std::uint64_t i = 0; i < 30; ++i) values.push_back(i);
  expect_tiff("stack", pages, numbers(values, 4));
  expect_tiff("wide_colours", {gray_tags(3, 2, 16, 0)}, numbers({0, 1, 2, 3, 4, 5}, 2));
}

Tags colour_tags(std::uint64_t width, std::uint64_t height, std::uint64_t samples, std::uint64_t page) {
  Tags tags = gray_tags(width, height, 8, 0);
  tags[kBitsPerSample] = std::vector<std::uint64_t>(static_cast<std::size_t>(samples), 8);
  tags[kSamplesPerPixel] = {samples};
  tags[kPhotometric] = {2};  // RGB
  tags[kStripByteCounts] = {width * height * samples};
  tags[kStripOffsets] = {4096 + page * width * height * samples};
  return tags;
}

TEST(TiffView, ColoursAndTransparency) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 36; ++i) values.push_back(i);
  expect_tiff("rgb", {colour_tags(3, 2, 3, 0), colour_tags(3, 2, 3, 1)}, numbers(values, 1));
  Tags with_alpha = colour_tags(2, 1, 4, 0);
  with_alpha[kExtraSamples] = {2};  // not associated
  expect_tiff("rgba", {with_alpha}, numbers({0, 1, 2, 3, 4, 5, 6, 7}, 1));
}

TEST(TiffView, PalettesAreColourMapsOf16Bits) {
  Tags tags = gray_tags(4, 1, 8, 0);
  tags[kPhotometric] = {3};
  const std::uint64_t colours[3][3] = {{1, 2, 3}, {255, 128, 0}, {7, 8, 9}};
  std::vector<std::uint64_t> map(768, 0);  // all reds, then all greens, then all blues
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t part = 0; part < 3; ++part) map[256 * part + i] = colours[i][part] * 0x101;
  tags[kColorMap] = map;
  expect_tiff("indexed", {tags}, numbers({0, 1, 2, 1}, 1));
  EXPECT_EQ(images().open("tiff", "indexed")->damage(), nullptr);
}

TEST(TiffView, AnImageOfWhichThePaletteIsDamagedIsGray) {
  for (const std::string_view name : {"torn", "lost"}) {
    expect_tiff(name, {gray_tags(4, 1, 8, 0)}, numbers({0, 1, 2, 1}, 1));
    const auto file = images().open("tiff", name);
    ASSERT_NE(file->damage(), nullptr) << name;
    EXPECT_NE(file->damage()->text().find("palette"), std::string::npos) << file->damage()->text();
  }
}

// A file without the colours would be kept, so there is none if a later request may find them.
TEST(TiffView, AnInterruptedRequestMakesNoGrayImage) {
  RequestBudget budget(RequestBudget::unbounded());
  budget.interrupt();
  const auto made =
      view::view_by_suffix(".tif").make(images().source(images().reader("indexed")), {}, budget);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::Interrupted);
}

TEST(TiffView, OffsetsHave8BytesWhereTheImageIsLargerThan4GiB) {
  const auto file = images().open("tiff", "huge");
  const TiffReader tiff(*file);
  EXPECT_TRUE(tiff.big());
  ASSERT_EQ(tiff.pages().size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(tiff.pages()[i], gray_tags(32768, 32768, 8, i)) << i;
  const std::uint64_t image_end = 4096 + (std::uint64_t{5} << 30);
  EXPECT_EQ(bytes_of(*file, image_end - 2, 2), "\x09\x09");
  EXPECT_GT(file->size(), image_end);
  EXPECT_EQ(bytes_of(*file, file->size() - 1, 4096).size(), 1U);
}

TEST(TiffView, WhatIsNoImage) {
  EXPECT_EQ(images().unfit("tiff", "line"), "fewer than two dimensions");
  EXPECT_EQ(images().unfit("tiff", "texts"), "elements that are no numbers");
  EXPECT_EQ(images().unfit("tiff", "long_doubles"), "numbers of more than 8 bytes");
  EXPECT_EQ(images().unfit("tiff", "no_rows"), "no elements");
}

}  // namespace
}  // namespace h5mount::test
