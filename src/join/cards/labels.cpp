#include "labels.h"

#include <cmath>

#include "date_form.h"
#include "h5mount/base/text.h"
#include "h5mount/meaning/numbers.h"
#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"
#include "path_pattern.h"

namespace h5mount::join {

namespace {

Label label_of_text(std::string text) {
  Label out;
  const auto whole = parse_whole<std::int64_t>(text);
  const auto real = parse_whole<double>(text);
  if (whole || (real && std::isfinite(*real))) {
    out.kind = Label::Kind::Number;
    out.number = whole ? Number{true, *whole, 0} : Number{false, 0, *real};
  }
  out.text = std::move(text);
  return out;
}

std::string_view without_extension(std::string_view path) {
  const std::size_t name = path.rfind('/') + 1, dot = path.rfind('.');
  return dot == std::string_view::npos || dot <= name ? path : path.substr(0, dot);
}

Result<std::optional<Label>> label_of_attribute(const object::Attribute& attribute,
                                                const text::ValueContext& values) {
  constexpr std::size_t kMostLabel = 4096;
  if (attribute.damage || !attribute.type || attribute.data.size() != attribute.type->size)
    return std::nullopt;
  const format::Datatype& type = *attribute.type;
  const bool is_string = text::is_string(type);
  const auto number = meaning::number_type(type);
  if (!is_string && !number) return std::nullopt;
  text::ValueContext bounded = values;
  bounded.max_bytes = kMostLabel;
  std::string text;
  const Status read = is_string ? text::append_string(type, attribute.data, bounded, text)
                                : text::append_json(type, attribute.data, bounded, text);
  if (!read && is_passing(read.error())) return fail(read.error());
  if (!read) return std::nullopt;
  return std::optional(label_of_text(std::move(text)));
}

}  // namespace

struct Labels::Parts {
  Axis axis;
  std::optional<PathPattern> pattern;
};

Labels::Labels(const Axis& axis)
    : parts_([&] {
        auto out = std::make_unique<Parts>();
        out->axis = axis;
        if (axis.source != Axis::Source::Pattern) return out;
        if (auto pattern = PathPattern::make(axis.text)) out->pattern = *std::move(pattern);
        return out;
      }()) {}
Labels::~Labels() = default;

std::optional<Label> Labels::of_path(std::string_view path) const {
  const Axis& axis = parts_->axis;
  switch (axis.source) {
    case Axis::Source::None:
      if (axis.kind != Axis::Kind::New) return std::nullopt;
      return Label{.kind = Label::Kind::Text, .text = std::string(without_extension(path))};
    case Axis::Source::Pattern: {
      auto found = parts_->pattern ? parts_->pattern->first_group(path) : std::nullopt;
      if (!found) return std::nullopt;
      return label_of_text(*std::move(found));
    }
    case Axis::Source::Date: {
      const auto found = find_date(axis.text, path);
      if (!found) return std::nullopt;
      return Label{Label::Kind::Time, {true, found->seconds, 0}, std::string(found->text)};
    }
    case Axis::Source::Attribute:
      break;
  }
  return std::nullopt;
}

Result<std::optional<Label>> Labels::of_attribute(const text::ValueContext& values) const {
  const Axis& axis = parts_->axis;
  if (axis.source != Axis::Source::Attribute) return std::nullopt;
  const std::string_view named = axis.text;
  const std::size_t at = named.rfind('@');
  const bool of_root = at == std::string_view::npos;
  const metadata::FileMetadata& file = *values.file;
  const auto find = [&]() -> Result<object::Attribute> {
    std::uint64_t address = file.root_address();
    if (!of_root) {
      H5_ASSIGN(address, object::resolve_path(values.file, address, named.substr(0, at)));
    }
    H5_ASSIGN(const object::Object object, object::open_object(file, address));
    return object::find_attribute(file, object, of_root ? named : named.substr(at + 1));
  };
  const auto attribute = find();
  if (attribute) return label_of_attribute(*attribute, values);
  if (is_passing(attribute.error())) return fail(attribute.error());
  return std::nullopt;
}

}  // namespace h5mount::join
