#include "report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "h5mount/base/limits.h"
#include "h5mount/base/log.h"
#include "h5mount/text/json_writer.h"
#include "h5mount/text/strict_json.h"

namespace h5mount::front {
namespace {

// Objects may share a type of any length.
constexpr std::size_t kMaxTypeText = 4096;
constexpr std::string_view kTooLong = "…";

std::string_view word_of(DiffKind kind) {
  constexpr std::array<std::string_view, 7> kWords = {"only_a", "only_b", "kind", "shape",
                                                      "type",   "link",   "value"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string line_begin(const DiffPlace& place) {
  return escape_for_log(place.path) + (place.attribute ? "@" + escape_for_log(*place.attribute) : "") + ": ";
}

// A member of an object; none if the value is too long to be shown.
std::string json_member(std::string_view name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format(",\"{}\":{}", name, text::strict_json(value));
}

std::string_view shown(const std::string& value) {
  return value.empty() ? kTooLong : value;
}

std::string object_begin(bool equal) {
  return fmt::format("{{\"schema_version\":1,\"equal\":{},\"differences\":[", equal);
}

}  // namespace

DiffValue shown_word(std::string_view word) {
  return {std::string(word), text::json_string(word)};
}

DiffValue shown_shape(const format::Dataspace& space) {
  if (space.kind == format::DataspaceKind::Null) return {"null", "null"};
  return {fmt::format("({}{})", fmt::join(space.dims, ", "), space.rank() == 1 ? "," : ""),
          fmt::format("[{}]", fmt::join(space.dims, ","))};
}

DiffValue shown_type(const format::Datatype& type, RequestBudget& budget) {
  std::string text = text::datatype_text(type);
  (void)budget.spend(limits::kStepsPerTextByte * text.size());
  if (text.size() > kMaxTypeText) {
    text.resize(kMaxTypeText);
    text += kTooLong;
  }
  return {text, text::json_string(text)};
}

DiffValue shown_link(const format::Link& link) {
  std::string object;
  text::JsonWriter json(object);
  json.begin_object();
  if (link.is(format::LinkType::Soft)) {
    json.member("target", link.target).end_object();
    return {text::json_string(link.target), object};
  }
  if (link.is(format::LinkType::External)) {
    json.member("file", link.file).member("target", link.target).end_object();
    return {fmt::format("{} {}", text::json_string(link.file), text::json_string(link.target)), object};
  }
  json.member("class", link.type).member("data", link.target).end_object();
  return {fmt::format("class {} {}", link.type, text::json_string(link.target)), object};
}

DiffValue shown_target(std::string_view target) {
  std::string object;
  text::JsonWriter(object).begin_object().member("target", target).end_object();
  return {text::json_string(target), object};
}

Status DiffReport::write(const DiffPlace& place, DiffKind kind, const Members& members,
                         const std::string& words) {
  if (json_) {
    std::string object = any_ ? "," : object_begin(false);
    text::JsonWriter json(object);
    json.begin_object().member("path", place.path).member("kind", word_of(kind));
    if (place.attribute) json.member("attribute", *place.attribute);
    for (const auto& [name, value] : members) json.key(name).raw(value);
    json.end_object();
    H5_TRY(out_.add(object));
  } else {
    H5_TRY(out_.add(line_begin(place) + escape_for_log(words) + "\n"));
  }
  any_ = true;
  return {};
}

Status DiffReport::add(const DiffPlace& place, DiffKind kind) {
  return write(place, kind, {}, kind == DiffKind::OnlyA ? "only in A" : "only in B");
}

Status DiffReport::add(const DiffPlace& place, DiffKind kind, const DiffValue& a, const DiffValue& b) {
  return write(place, kind, {{"a", a.json}, {"b", b.json}},
               fmt::format("{} {}, {}", word_of(kind), a.text, b.text));
}

Status DiffReport::add_values(const DiffPlace& place, const DifferentValues& values) {
  const auto& first = values.first;
  const bool scalar = first.size() == 1 && first.front().index.empty();
  const std::string words =
      scalar ? fmt::format("{}, {}", shown(first.front().a), shown(first.front().b))
             : fmt::format("{} {}", values.count, values.count == 1 ? "value differs" : "values differ");
  std::string places;
  for (const DifferentPlace& one : first) {
    if (json_)
      places += fmt::format("{}{{\"index\":[{}]{}{}}}", places.empty() ? "" : ",", fmt::join(one.index, ","),
                            json_member("a", one.a), json_member("b", one.b));
    else if (!scalar)
      places += fmt::format("  [{}]: {}, {}\n", fmt::join(one.index, ", "), escape_for_log(shown(one.a)),
                            escape_for_log(shown(one.b)));
  }
  H5_TRY(write(place, DiffKind::Value,
               {{"count", fmt::format("{}", values.count)}, {"first", "[" + places + "]"}}, words));
  return json_ ? Status{} : out_.add(places);
}

Status DiffReport::end(bool equal) {
  if (json_) H5_TRY(out_.add((any_ ? std::string() : object_begin(equal)) + "]}\n"));
  return out_.flush();
}

std::string diff_of_nothing(const DiffOptions& options) {
  return options.json ? object_begin(false) + "]}\n" : std::string();
}

}  // namespace h5mount::front
