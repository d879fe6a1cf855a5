// Cards made by hand, for tests of plans.
#pragma once

#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "h5mount/base/hash.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/join/plan.h"

namespace h5mount::join::test {

using format::DatatypePtr;
using meaning::NumberKind;

inline const DatatypePtr kF4 = dataset::float_type(4, format::ByteOrder::Little);
inline const DatatypePtr kF8 = dataset::float_type(8, format::ByteOrder::Little);
inline DatatypePtr whole(std::uint32_t bytes, bool is_signed = true,
                         format::ByteOrder order = format::ByteOrder::Little) {
  return dataset::integer_type(bytes, is_signed, order);
}

inline std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
inline std::uint64_t bits(int value) {
  return static_cast<std::uint64_t>(std::int64_t{value});
}

inline Digest digest(std::string_view text) {
  return {fnv1a(text), mix_bits(fnv1a(text))};
}

// Sets an attribute, in the order of names.
inline void set(MemberCard& card, std::string name, std::string text) {
  std::erase_if(card.attributes, [&](const CardAttribute& one) { return one.name == name; });
  const auto at = std::ranges::lower_bound(card.attributes, name, {}, &CardAttribute::name);
  if (name == "units") card.units = text;
  if (name == "calendar") card.calendar = text;
  card.attributes.insert(at, {name, digest(text), text});
}

inline MemberCard group(std::string path) {
  MemberCard out;
  out.path = std::move(path);
  return out;
}

inline MemberCard variable(std::string path, DatatypePtr type, std::vector<std::uint64_t> dims,
                           std::vector<std::string> scales = {}) {
  MemberCard out;
  out.path = std::move(path);
  out.kind = MemberCard::Kind::Dataset;
  out.space.kind = dims.empty() ? format::DataspaceKind::Scalar : format::DataspaceKind::Simple;
  out.space.dims = out.space.max_dims = std::move(dims);
  out.scales = std::move(scales);
  out.scales.resize(out.space.rank());
  if (const auto number = meaning::number_type(*type)) {
    out.packing.emplace();
    out.packing->stored = *number;
    out.packing->read_as = out.packing->shown = number->kind;
  }
  out.type = std::move(type);
  return out;
}

inline MemberCard chunked(MemberCard card, std::vector<std::uint64_t> chunk, std::string_view filters = "") {
  card.chunk = std::move(chunk);
  card.layout = format::LayoutClass::Chunked;
  card.pipeline = digest(filters);
  return card;
}

struct Packed {
  std::optional<double> scale = {}, offset = {};
  bool singles = false;  // scale and offset are float32
  std::vector<std::uint64_t> fills = {};
  std::optional<std::uint64_t> least = {}, most = {};
};
// As packing_of would say it.
inline MemberCard packed(MemberCard card, const Packed& how) {
  meaning::Packing& packing = *card.packing;
  packing.scale = how.scale, packing.offset = how.offset;
  packing.fills = how.fills, packing.least = how.least, packing.most = how.most;
  const bool small = meaning::is_integer(packing.read_as) ? meaning::bytes_of(packing.read_as) <= 2
                                                          : packing.read_as == NumberKind::F32;
  if (packing.scaled()) packing.shown = how.singles && small ? NumberKind::F32 : NumberKind::F64;
  const auto name = [&](const char* attribute, const auto& value) {
    if (value) set(card, attribute, std::to_string(*value) + (how.singles ? "f" : ""));
  };
  name("scale_factor", how.scale), name("add_offset", how.offset);
  name("valid_min", how.least), name("valid_max", how.most);
  if (!how.fills.empty()) set(card, "_FillValue", std::to_string(how.fills[0]));
  return card;
}

class File {
 public:
  explicit File(std::string path) {
    card_.path = std::move(path);
    add(group(""));
  }

  File& add(MemberCard card) { return add(std::make_shared<const MemberCard>(std::move(card))); }
  File& add(MemberCardPtr card) {
    card_.members.push_back(std::move(card));
    return *this;
  }
  // A coordinate with those values.
  File& axis(std::string path, DatatypePtr type, const std::vector<double>& values, std::string units = "",
             std::string calendar = "") {
    MemberCard card = variable(path, type, {values.size()}, {path});
    card.is_scale = card.is_coordinate = true;
    if (!units.empty()) set(card, "units", units);
    if (!calendar.empty()) set(card, "calendar", calendar);
    return axis(std::move(card), values);
  }
  File& axis(MemberCard card, const std::vector<double>& values) {
    const bool integers = meaning::is_integer(card.packing->stored.kind);
    const auto number = [&](double value) {
      return integers ? Number{true, static_cast<std::int64_t>(value), 0} : Number{false, 0, value};
    };
    if (values.size() <= kMostCardNumbers)
      for (const double value : values) card.numbers.push_back(number(value));
    AxisValues axis;
    if (!values.empty()) {
      axis.first = number(values.front()), axis.last = number(values.back());
      const double scale = card.packing->scale.value_or(1), offset = card.packing->offset.value_or(0);
      axis.decoded_first = values.front() * scale + offset,
      axis.decoded_last = values.back() * scale + offset;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      axis.has_missing = axis.has_missing || values[i] != values[i];
      if (i == 0) continue;
      axis.ascending = axis.ascending && values[i - 1] < values[i];
      axis.descending = axis.descending && values[i - 1] > values[i];
    }
    paths_.push_back(card.path);
    axes_.push_back(axis);
    return add(std::move(card));
  }
  File& label(Label label) {
    card_.label = std::move(label);
    return *this;
  }
  FileCard& card() { return card_; }

  operator FileCardPtr() const {
    FileCard out = card_;
    std::ranges::sort(out.members, {}, [](const MemberCardPtr& one) { return one->path; });
    out.axes = axes_;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      for (std::uint32_t at = 0; at < out.members.size(); ++at)
        if (out.members[at]->path == paths_[i]) out.axes[i].member = at;
    return std::make_shared<const FileCard>(std::move(out));
  }

 private:
  FileCard card_;
  std::vector<std::string> paths_;
  std::vector<AxisValues> axes_;
};

inline Options along(std::string_view axis, Conflict conflict = Conflict::Decode) {
  Options out;
  if (axis == "union")
    out.axis.kind = Axis::Kind::Union;
  else if (axis.starts_with('+'))
    out.axis.kind = Axis::Kind::New, out.axis.name = axis.substr(1);
  else if (axis.starts_with(':'))
    out.axis.kind = Axis::Kind::First, out.axis.dimension = static_cast<std::uint32_t>(axis[1] - '0');
  else
    out.axis.name = axis;
  out.conflict = conflict;
  return out;
}
inline Options by_name(std::string_view axis) {
  Options out = along(axis);
  out.order = Order::Name;
  return out;
}

inline PlanPtr planned(std::vector<FileCardPtr> cards, const Options& options = along("time")) {
  return *make_plan(std::move(cards), options, Unbounded());
}
inline std::string text(const std::optional<Error>& error) {
  return error ? error->text() : std::string();
}
inline std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> out;
  for (const PlannedFile& file : plan.files) out.push_back(file.card->path);
  return out;
}
// What was done with the elements of a file.
inline const Treatment& treatment(const PlannedMember& member, std::size_t file) {
  return member.treatments.at(member.parts.at(file).treatment);
}

// A file of a time coordinate of doubles, in days, and of one variable along it.
inline File daily(std::string path, const std::vector<double>& days, MemberCard value) {
  File out(std::move(path));
  out.axis("time", kF8, days, "days since 2000-01-01");
  out.add(std::move(value));
  return out;
}
inline MemberCard series(std::uint64_t length, DatatypePtr type = kF4) {
  return variable("t2m", std::move(type), {length}, {"time"});
}

}  // namespace h5mount::join::test
