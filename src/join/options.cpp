#include "h5mount/join/options.h"

#include <fmt/format.h>

#include "cards/date_form.h"
#include "cards/path_pattern.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/text.h"

namespace h5mount::join {

namespace {

constexpr std::string_view kForms =
    "forms are NAME, NAME:'%Y%m%d', :N, +NAME, +NAME:'REGEX', +NAME:'%Y%m%d', +NAME:@ATTRIBUTE, union";

Error bad_axis(std::string_view text, std::string_view why) {
  return {ErrorCode::InvalidValue, fmt::format("join={}: {}; {}", text, why, kForms)};
}

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0];
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// Of a new axis, what is behind the colon.
Status set_source(std::string_view text, std::string_view whole, Axis& axis) {
  axis.text = text;
  if (text.starts_with('@')) {
    axis.source = Axis::Source::Attribute;
    axis.text.erase(0, 1);
    if (axis.text.empty() || axis.text.ends_with('@')) return fail(bad_axis(whole, "no attribute is named"));
    return {};
  }
  if (text.contains('%')) {
    axis.source = Axis::Source::Date;
    return check_date_form(text);
  }
  axis.source = Axis::Source::Pattern;
  const auto pattern = PathPattern::make(text);
  return pattern ? Status() : fail(pattern.error());
}

}  // namespace

Result<Axis> parse_axis(std::string_view text) {
  Axis out;
  if (text == "union") {
    out.kind = Axis::Kind::Union;
    return out;
  }
  const bool is_new = text.starts_with('+');
  const std::string_view rest = text.substr(is_new ? 1 : 0);
  const std::size_t colon = rest.find(':');
  const std::string_view name = unquoted(rest.substr(0, colon));
  const bool has_source = colon != std::string_view::npos;
  const std::string_view source = has_source ? unquoted(rest.substr(colon + 1)) : std::string_view();
  if (has_source && name.empty() && !is_new) {
    const auto dimension = parse_whole<std::uint32_t>(source);
    if (!dimension || *dimension >= limits::kMaxRank)
      return fail(bad_axis(text, "behind `:` is no number of a dimension, which is counted from 0"));
    out.kind = Axis::Kind::First;
    out.dimension = *dimension;
    return out;
  }
  if (name.empty()) return fail(bad_axis(text, "the axis has no name"));
  if (name.contains('/') || name.contains('\0')) return fail(bad_axis(text, "no name has a `/` in it"));
  if (has_source && source.empty()) return fail(bad_axis(text, "nothing is behind `:`"));
  out.kind = is_new ? Axis::Kind::New : Axis::Kind::Existing;
  out.name = name;
  if (!has_source) return out;
  if (is_new) {
    H5_TRY(set_source(source, text, out));
    return out;
  }
  if (!source.contains('%'))
    return fail(bad_axis(text, "behind `:` is no date form such as '%Y%m%d', which an existing axis takes"));
  out.source = Axis::Source::Date;
  out.text = source;
  H5_TRY(check_date_form(source));
  return out;
}

std::string text_of(const Axis& axis) {
  return axis.name;
}
}  // namespace h5mount::join
