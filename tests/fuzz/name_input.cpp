#include "name_input.h"

#include <cstdlib>
#include <unordered_set>

#include "h5mount/object/object.h"
#include "h5mount/tree/names.h"
#include "selection_text.h"

namespace h5mount::test {
namespace {

using namespace tree;

void must(bool condition) {
  if (!condition) std::abort();
}

void must_be_file_name(std::string_view shown, std::size_t most) {
  must(!shown.empty() && shown.size() <= most && shown != "." && shown != "..");
  must(shown.find('/') == std::string_view::npos && shown.find('\0') == std::string_view::npos);
}

// `line` as the name of a link, and as a name that somebody looks up.
void take_link(std::string_view line) {
  const std::string shown = encode_name(line);
  must_be_file_name(shown, kMaxShownName);
  if (!may_be_cut(shown)) must(decode_name(shown) == line);
  if (const auto name = decode_name(line)) must(encode_name(*name) == line);
  const std::string suffixed = encode_name(line, ".npy");
  must(suffixed.ends_with(".npy"));
  must_be_file_name(suffixed, kMaxShownName);
  const std::string no_at = encode_name_without_at(line);
  must_be_file_name(no_at, kMaxShownName);
  must(no_at.find('@') == std::string::npos);
  if (!may_be_cut(no_at)) must(decode_name_without_at(no_at) == line);
  if (const auto name = decode_name_without_at(line)) must(encode_name_without_at(*name) == line);
}

void take_attribute(std::string_view line) {
  const std::string shown = encode_attribute_name(line);
  must(!shown.empty() && shown.size() <= kMaxShownAttribute && shown.find('\0') == std::string::npos);
  must(!shown.starts_with("hdf5."));  // the names of the program's own
  if (!may_be_cut(shown)) must(decode_attribute_name(shown) == line);
  if (const auto name = decode_attribute_name(line)) must(encode_attribute_name(*name) == line);
}

void take_place(std::string_view line) {
  if (const auto place = decode_attribute_place(line)) must(encode_attribute_place(*place) == line);
  const std::size_t half = line.size() / 2;
  const AttributePlace parts{std::string(line.substr(0, half)), std::string(line.substr(half))};
  const AttributePlace of_root{{}, std::string(line)};
  for (const AttributePlace& place : {parts, of_root}) {
    const std::string shown = encode_attribute_place(place);
    must_be_file_name(shown, kMaxShownName);
    if (!may_be_cut(shown)) must(decode_attribute_place(shown) == place);
  }
}

void take_selection(std::string_view line) {
  static const std::vector<std::vector<std::uint64_t>> kShapes = {
      {}, {0}, {10}, {~std::uint64_t{0} >> 1}, {3, 1, 100'000}, std::vector<std::uint64_t>(32, 2)};
  for (const auto& dims : kShapes) {
    object::DatasetDescription dataset;
    dataset.space.kind = dims.empty() ? format::DataspaceKind::Scalar : format::DataspaceKind::Simple;
    dataset.space.dims = dims;
    const auto part = view::parse_selection(line, dataset);
    if (!part) continue;
    must(part->axes.size() == dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const dataset::DatasetPart::Axis& axis = part->axes[i];
      must(axis.step >= 1 && axis.count <= dims[i] && (!axis.dropped || axis.count == 1));
      if (axis.count > 0)
        must(axis.start < dims[i] && (axis.count - 1) <= (dims[i] - 1 - axis.start) / axis.step);
    }
  }
}

}  // namespace

void take_names(std::string_view input) {
  UniqueNames directory;
  std::unordered_set<std::string> names, shown;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, end);
    take_link(line);
    take_attribute(line);
    take_place(line);
    take_selection(line);
    if (names.insert(std::string(line)).second) {
      const std::string unique = directory.add(line, encode_name(line));
      must_be_file_name(unique, kMaxShownName);
      must(shown.insert(unique).second);
    }
    input.remove_prefix(std::min(end + 1, input.size()));
  }
}

}  // namespace h5mount::test
