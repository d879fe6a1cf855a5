// Rule 6: attributes that are equal in all files, and those that must be (rule 5).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "planner.h"

namespace h5mount::join {

namespace {

// That netCDF keeps for itself.
bool is_hidden(std::string_view name) {
  constexpr std::array<std::string_view, 8> kHidden = {
      "_NCProperties",  "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "CLASS",
      "DIMENSION_LIST", "NAME",          "REFERENCE_LIST"};
  return std::ranges::find(kHidden, name) != kHidden.end();
}

// That say what the numbers are: with others they would be other quantities.
constexpr std::array<std::string_view, 7> kMustAgree = {"cell_methods", "standard_name", "positive",
                                                        "flag_values",  "flag_masks",    "flag_meanings",
                                                        "grid_mapping"};

// That is no longer true of several files joined.
bool is_of_one_file(std::string_view name) {
  return name == "actual_range" || name.starts_with("time_coverage_");
}

const CardAttribute* attribute_of(const MemberCard& card, std::string_view name) {
  const auto found = std::ranges::lower_bound(card.attributes, name, {}, &CardAttribute::name);
  return found != card.attributes.end() && found->name == name ? &*found : nullptr;
}

// Calls `differs(name)` for each attribute of one that the other has otherwise, or not.
template <class Differs>
void compare_attributes(const MemberCard& a, const MemberCard& b, Differs differs) {
  auto one = a.attributes.begin();
  auto other = b.attributes.begin();
  while (one != a.attributes.end() || other != b.attributes.end()) {
    const int order = one == a.attributes.end()     ? 1
                      : other == b.attributes.end() ? -1
                                                    : one->name.compare(other->name);
    const std::string_view name = order <= 0 ? one->name : other->name;
    if (order != 0 || !(one->value == other->value)) differs(name);
    if (order <= 0) ++one;
    if (order >= 0) ++other;
  }
}

}  // namespace

bool equal_attributes(const MemberCard& a, const MemberCard& b) {
  bool equal = true;
  compare_attributes(a, b, [&](std::string_view name) {
    const bool counts = !is_hidden(name) && !(a.packing && is_packing_attribute(name));
    equal = equal && !counts;
  });
  return equal;
}

namespace {

// Those that must agree are equal in all that have them.
Status check_meanings(const Planning& plan, const Gathered& in) {
  for (const std::string_view name : kMustAgree) {
    const Variant* stated = nullptr;
    for (const Variant& one : in.variants) {
      const CardAttribute* const own = attribute_of(one.of(), name);
      if (own && !stated) stated = &one;
      if (!own || own->value == attribute_of(stated->of(), name)->value) continue;
      return fail(cannot_join(fmt::format(
          "{}: {} and {} differ in {} (join_conflict=first takes the first's, match= leaves files out)",
          shown_path(in.path), plan.name(*stated), plan.name(one), name)));
    }
  }
  return {};
}

}  // namespace

Status join_attributes(const Planning& plan, const Gathered& in, bool times, PlannedMember& out) {
  const Variant& first = in.variants[0];
  const bool packed = first.of().packing.has_value();
  std::set<std::string_view> differ, gone(out.attributes_gone.begin(), out.attributes_gone.end());
  if (out.axis && plan.options.conflict != Conflict::First) H5_TRY(check_meanings(plan, in));
  for (const Variant& one : in.variants) {
    compare_attributes(first.of(), one.of(), [&](std::string_view name) {
      if (packed && is_packing_attribute(name)) return;  // compared by rule 4, or the copy's own
      if (times && (name == "units" || name == "calendar")) return;
      (is_hidden(name) ? gone : differ).insert(name);
    });
  }
  if (plan.options.axis.kind != Axis::Kind::Union && (out.axis || !out.type)) {
    for (const CardAttribute& one : first.of().attributes)
      if (is_of_one_file(one.name)) gone.insert(one.name);
    std::erase_if(differ, is_of_one_file);
  }
  for (const std::string_view name : gone) differ.erase(name);
  out.attributes_differ.assign(differ.begin(), differ.end());
  // Names that the first does not have need not be dropped.
  std::vector<std::string> dropped;
  for (const std::string_view name : gone)
    if (attribute_of(first.of(), name)) dropped.emplace_back(name);
  out.attributes_gone = std::move(dropped);
  return {};
}

}  // namespace h5mount::join
