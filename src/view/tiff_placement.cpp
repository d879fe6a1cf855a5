#include "tiff_placement.h"

#include <fmt/format.h>

#include <array>
#include <bit>

namespace h5mount::view {

namespace {

using dataset::Placement;

enum : std::uint16_t { kOfText = 2, kOfShorts = 3, kOfDoubles = 12 };

class TagWriter {
 public:
  explicit TagWriter(bool big_endian) : big_endian_(big_endian) {}

  void add_doubles(std::uint16_t tag, std::span<const double> numbers) {
    std::string bytes;
    for (const double number : numbers) append(std::bit_cast<std::uint64_t>(number), 8, bytes);
    tags_.push_back({tag, kOfDoubles, numbers.size(), std::move(bytes)});
  }
  void add_shorts(std::uint16_t tag, std::span<const std::uint16_t> numbers) {
    std::string bytes;
    for (const std::uint16_t number : numbers) append(number, 2, bytes);
    tags_.push_back({tag, kOfShorts, numbers.size(), std::move(bytes)});
  }
  void add_text(std::uint16_t tag, std::string text) {
    text += '\0';
    tags_.push_back({tag, kOfText, text.size(), std::move(text)});
  }
  std::vector<PlacedTag> done() && { return std::move(tags_); }

 private:
  void append(std::uint64_t number, std::size_t bytes, std::string& out) const {
    for (std::size_t i = 0; i < bytes; ++i)
      out += static_cast<char>(number >> (8 * (big_endian_ ? bytes - 1 - i : i)) & 0xFF);
  }

  const bool big_endian_;
  std::vector<PlacedTag> tags_;
};

// Rows that go down and columns that go right are said by their sizes, which more programs read.
void add_place(const Placement& at, TagWriter& out) {
  if (at.column_step > 0 && at.row_step < 0) {
    out.add_doubles(33550, std::array{at.column_step, -at.row_step, 0.0});
    out.add_doubles(33922, std::array{0.0, 0.0, 0.0, at.left, at.top, 0.0});
    return;
  }
  out.add_doubles(34264, std::array{at.column_step, 0.0, 0.0, at.left,  //
                                    0.0, at.row_step, 0.0, at.top,      //
                                    0.0, 0.0, 0.0, 0.0,                 //
                                    0.0, 0.0, 0.0, 1.0});
}

void add_keys(const Placement& at, TagWriter& out) {
  if (at.keys.empty()) return;
  constexpr std::uint16_t kDirectory = 34735, kDoubles = 34736, kTexts = 34737;
  std::vector<std::uint16_t> directory = {1, 1, 1, static_cast<std::uint16_t>(at.keys.size())};
  std::vector<double> doubles;
  std::string texts;
  for (const dataset::GeoKey& key : at.keys) {
    std::uint16_t place = 0, count = 1, value = 0;
    if (const auto* const number = std::get_if<double>(&key.value)) {
      place = kDoubles, value = static_cast<std::uint16_t>(doubles.size());
      doubles.push_back(*number);
    } else if (const auto* const text = std::get_if<std::string>(&key.value)) {
      place = kTexts, value = static_cast<std::uint16_t>(texts.size());
      texts += *text + "|";
      count = static_cast<std::uint16_t>(text->size() + 1);
    } else {
      value = std::get<std::uint16_t>(key.value);
    }
    directory.insert(directory.end(), {key.id, place, count, value});
  }
  out.add_shorts(kDirectory, directory);
  if (!doubles.empty()) out.add_doubles(kDoubles, doubles);
  if (!texts.empty()) out.add_text(kTexts, std::move(texts));
}

constexpr std::string_view kBegin = "<GDALMetadata>\n", kEnd = "</GDALMetadata>\n";

std::string item(std::string_view attributes, std::string_view text) {
  return fmt::format("  <Item name=\"{}>{}</Item>\n", attributes, text);
}
std::string axis_item(const Placement::Axis& axis, std::string_view text) {
  return item(axis.name + "\"",
              axis.units.empty() ? std::string(text) : fmt::format("{} {}", text, axis.units));
}
std::string units_item(const Placement& placement) {
  return placement.units.empty() ? std::string()
                                 : item(R"(UNITTYPE" sample="0" role="unittype")", placement.units);
}

}  // namespace

std::vector<PlacedTag> placed_tags(const Placement& placement, bool big_endian) {
  constexpr std::uint16_t kGdalNoData = 42113;
  TagWriter out(big_endian);
  add_place(placement, out);
  add_keys(placement, out);
  if (!placement.no_data.empty()) out.add_text(kGdalNoData, placement.no_data);
  return std::move(out).done();
}

std::string page_metadata(const Placement& placement, std::span<const std::uint64_t> dims,
                          std::uint64_t page) {
  std::string out;
  for (std::size_t i = placement.axes.size(); i-- > 0;) {
    const Placement::Axis& axis = placement.axes[i];
    const auto at = static_cast<std::size_t>(page % dims[i]);
    page /= dims[i];
    if (at >= axis.ends.size()) continue;
    const std::uint32_t begin = at == 0 ? 0 : axis.ends[at - 1];
    out.insert(0, axis_item(axis, std::string_view(axis.text).substr(begin, axis.ends[at] - begin)));
  }
  out += units_item(placement);
  return out.empty() ? out : fmt::format("{}{}{}{}", kBegin, out, kEnd, '\0');
}

std::uint64_t metadata_room(const Placement& placement) {
  std::uint64_t out = units_item(placement).size();
  for (const Placement::Axis& axis : placement.axes)
    if (!axis.ends.empty()) out += axis_item(axis, "").size() + axis.longest;
  return out == 0 ? 0 : out + kBegin.size() + kEnd.size() + 1;
}

}  // namespace h5mount::view
