// Rules 4 and 5: how packed numbers and fill values of different files become those of one dataset.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <ranges>
#include <tuple>

#include "packed_values.h"
#include "planner.h"

namespace h5mount::join {

namespace {

using format::DatatypePtr;
using meaning::NumberKind;
using meaning::Packing;

bool is_large_integer(NumberKind kind) {
  return meaning::is_integer(kind) && meaning::bytes_of(kind) == 8;
}
bool reads_sign(const Packing& packing) {
  return packing.read_as != packing.stored.kind;
}

class PackingRule {
 public:
  PackingRule(const Planning& plan, const Gathered& in, const TimeRule& times, PlannedMember& out)
      : plan_(plan), in_(in), times_(times), out_(out), of_(in.variants.size()) {}

  Status apply() {
    const bool numbers =
        std::ranges::all_of(in_.variants, [](const Variant& one) { return one.of().packing.has_value(); });
    if (!numbers) {
      if (times_.differs)
        return fail(
            cannot_join(fmt::format("{}: its times are not numbers in all files, and their units differ "
                                    "(match= leaves files out)",
                                    shown_path(in_.path))));
      H5_TRY(check_unknown());
      H5_ASSIGN(out_.type, joined_type(plan_, in_));
      return {};
    }
    H5_TRY(compare());
    H5_TRY(choose());
    rebase();
    finish();
    return {};
  }

 private:
  const Packing& packing(std::size_t i) const { return *in_.variants[i].of().packing; }

  // Of numbers that processors do not have it is not known what they mean, so it must be said alike.
  Status check_unknown() const {
    const auto& type = *in_.variants[0].of().type;
    if (type.cls != format::DatatypeClass::Integer && type.cls != format::DatatypeClass::Float) return {};
    for (const Variant& one : in_.variants)
      if (!equal_packing_attributes(in_.variants[0].of(), one.of()))
        return fail(
            cannot_join(fmt::format("{}: {} and {} pack numbers or mark missing ones differently, in a type "
                                    "that cannot be unpacked (match= leaves files out)",
                                    shown_path(in_.path), plan_.name(in_.variants[0]), plan_.name(one))));
    return {};
  }

  // What differs.
  Status compare() {
    bool all_sound = true;
    for (std::size_t i = 0; i < of_.size(); ++i) {
      const Packing& one = packing(i);
      all_sound = all_sound && in_.variants[i].of().packing_sound;
      scaled_ = scaled_ || one.scaled();
      bounded_ = bounded_ || one.least || one.most;
      may_miss_ = may_miss_ || one.may_miss();
      signed_otherwise_ = signed_otherwise_ || reads_sign(one);
      if (i == 0 || in_.variants[i].card->get() == in_.variants[0].card->get()) continue;
      if (!equal_packings(in_.variants[0].of(), in_.variants[i].of()) && !other_) other_ = i;
      bounds_differ_ = bounds_differ_ || !equal_bounds(packing(0), one);
      signs_differ_ = signs_differ_ || !equal_signs(packing(0), one);
      fills_differ_ = fills_differ_ || !equal_fills(packing(0), one);
    }
    if (!other_) return {};
    if (!all_sound)
      return fail(cannot_join(fmt::format(
          "{}: scale_factor or add_offset of {} or {} is no number, 0, NaN or several numbers, and packings "
          "differ (match= leaves files out)",
          shown_path(in_.path), plan_.name(in_.variants[0]), plan_.name(in_.variants[*other_]))));
    if (plan_.options.conflict == Conflict::Refuse)
      return fail(cannot_join(
          fmt::format("{}: {} and {} pack numbers or mark missing ones differently "
                      "(join_conflict=decode unpacks them)",
                      shown_path(in_.path), plan_.name(in_.variants[0]), plan_.name(in_.variants[*other_]))));
    return {};
  }

  Status choose() {
    // Bounds are in the units of their file, and what is packed can only be rebased unpacked.
    const bool forced = times_.differs && (scaled_ || bounded_);
    if (forced &&
        !std::ranges::all_of(in_.variants, [](const Variant& one) { return one.of().packing_sound; }))
      return fail(
          cannot_join(fmt::format("{}: its scale_factor or add_offset is no number, 0, NaN or several "
                                  "numbers, and its times are to be rebased (match= leaves files out)",
                                  shown_path(in_.path))));
    if (!other_ && !forced && !(times_.differs && signed_otherwise_)) return keep();
    if (scaled_) return unpack();
    if (!bounds_differ_ && !fills_differ_ && !forced) return read_signs();
    if (!bounds_differ_ && !forced && !signs_differ_ && can_map()) return map_fills();
    return mark_missing();
  }

  void keep_fill() {
    if (!packing(0).fills.empty()) fill_ = packed_value(packing(0).fills[0], packing(0).read_as);
  }

  Status keep() {
    H5_ASSIGN(out_.type, joined_type(plan_, in_));
    keep_fill();
    return {};
  }

  // Integers that are read with another sign than they have, beside others.
  Status read_signs() {
    H5_TRY(set_read_type());
    for (std::size_t i = 0; i < of_.size(); ++i)
      if (reads_sign(packing(i))) show(i, packing(i).read_as);
    keep_fill();
    out_.attributes_gone.push_back("_Unsigned");
    return {};
  }

  // The type of what the stored numbers are read as.
  Status set_read_type() {
    Gathered read = {.path = in_.path, .files = {}, .variant = {}, .variants = in_.variants, .known = {}};
    std::vector<std::shared_ptr<MemberCard>> cards;
    std::vector<MemberCardPtr> holders(in_.variants.size());
    for (std::size_t i = 0; i < of_.size(); ++i) {
      if (!reads_sign(packing(i))) continue;
      auto card = std::make_shared<MemberCard>();
      card->type = meaning::type_of(packing(i).read_as);
      holders[i] = std::move(card);
      read.variants[i].card = &holders[i];
    }
    H5_ASSIGN(out_.type, joined_type(plan_, read));
    return {};
  }

  // The first fill that any file has stands for missing values of all, where every file's numbers can be told
  // from it.
  bool can_map() {
    std::optional<PackedValue> first;
    for (std::size_t i = 0; i < of_.size(); ++i) {
      const auto fills = fill_set(packing(i));
      if (fills.size() > 1) return false;
      if (!first && !fills.empty()) first = fills[0];
    }
    if (!first || first->is_nan) return false;
    bool large = false, real = false, small = false;
    for (std::size_t i = 0; i < of_.size(); ++i) {
      const NumberKind kind = packing(i).stored.kind;
      (meaning::is_integer(kind) ? is_large_integer(kind) ? large : small : real) = true;
      const auto own = fill_set(packing(i));
      if (!own.empty() && (own[0].is_nan || !bits_in(*first, kind))) return false;
    }
    fill_ = first;
    return real ? !small && !large : large;
  }

  Status map_fills() {
    H5_ASSIGN(out_.type, joined_type(plan_, in_));
    for (std::size_t i = 0; i < of_.size(); ++i) {
      const Packing& one = packing(i);
      const auto joined = bits_in(*fill_, one.stored.kind);
      if (!joined) continue;  // the file's numbers cannot be it
      const auto own = one.fills.empty() ? std::nullopt : std::optional(one.fills[0]);
      if (own && fill_set(one)[0] == *fill_) continue;
      of_[i].fill = Treatment::Fill{own, *joined};
    }
    out_.attributes_gone.insert(out_.attributes_gone.end(), {"_FillValue", "missing_value"});
    out_.unpacked = mapped_ = true;
    return {};
  }

  // Plain numbers of which some are missing: NaN.
  Status mark_missing() {
    fill_.reset();
    for (std::size_t i = 0; i < of_.size(); ++i)
      if (is_large_integer(packing(i).read_as) && may_miss_)
        return fail(cannot_join(fmt::format(
            "{}: missing values are marked differently in {} and {}, and integers of 64 bits cannot be NaN "
            "(match= leaves files out)",
            shown_path(in_.path), plan_.name(in_.variants[0]),
            plan_.name(in_.variants[other_.value_or(0)]))));
    H5_TRY(set_read_type());
    const auto kind = meaning::number_type(*out_.type)->kind;
    const bool whole = meaning::is_integer(kind);
    if (whole) out_.type = meaning::type_of(NumberKind::F64);
    return decode(whole ? NumberKind::F64 : kind);
  }

  Status unpack() {
    bool single = !times_.differs;  // times are rebased as doubles
    std::optional<std::size_t> large, real;
    for (std::size_t i = 0; i < of_.size(); ++i) {
      const Packing& one = packing(i);
      single = single && (one.scaled() ? one.shown : one.stored.kind) == NumberKind::F32;
      if (!one.scaled() && is_large_integer(one.read_as)) large = i;
      if (one.scaled()) real = i;
    }
    if (large)
      return fail(cannot_join(fmt::format(
          "{}: {} has integers of 64 bits and {} packed numbers: no type holds both exactly (match= "
          "leaves files out)",
          shown_path(in_.path), plan_.name(in_.variants[*large]), plan_.name(in_.variants[*real]))));
    const NumberKind kind = single ? NumberKind::F32 : NumberKind::F64;
    out_.type = meaning::type_of(kind);
    return decode(kind);
  }

  // All to floats of that kind, in which missing ones are NaN.
  Status decode(NumberKind kind) {
    for (std::size_t i = 0; i < of_.size(); ++i) {
      const Packing& one = packing(i);
      if (one.scaled()) {
        show(i, kind);
      } else if (one.may_miss() && meaning::is_integer(one.read_as)) {
        show(i, kind);
        of_[i].unpack->scale = 1;
      } else if (one.may_miss() || reads_sign(one)) {
        show(i, one.read_as);
      }
    }
    for (const std::string_view name : kPackingAttributes) out_.attributes_gone.emplace_back(name);
    out_.unpacked = decoded_ = true;
    return {};
  }

  void show(std::size_t i, NumberKind kind) {
    of_[i].unpack = packing(i);
    of_[i].unpack->shown = kind;
  }

  void rebase() {
    if (!times_.differs) return;
    bool whole = times_.to_integer && !decoded_;
    for (std::size_t i = 0; i < of_.size(); ++i) whole = whole && meaning::is_integer(packing(i).stored.kind);
    for (std::size_t i = 0; i < of_.size(); ++i) {
      const auto& from = times_.from[i];
      const bool moves = from.unit != times_.to.unit || from.epoch_day != times_.to.epoch_day ||
                         from.epoch_microsecond != times_.to.epoch_microsecond;
      // What int64 does not hold must be seen.
      if (!moves && !(whole && packing(i).read_as == NumberKind::U64)) continue;
      Treatment::Rebase added = {.from = from, .to = times_.to, .to_integer = whole, .keeps = {}};
      if (!decoded_) added.keeps = of_[i].fill ? std::vector{of_[i].fill->joined} : packing(i).fills;
      of_[i].rebase = std::move(added);
    }
    out_.type = meaning::type_of(whole ? NumberKind::I64 : NumberKind::F64);
    out_.rebased = true;
  }

  void finish() {
    const NumberKind kind = meaning::number_type(*out_.type)->kind;
    std::optional<std::uint64_t> fill;
    if (fill_) {
      fill = bits_in(*fill_, kind);
      if (!fill && kind == NumberKind::F64) fill = std::bit_cast<std::uint64_t>(as_real(*fill_));
    }
    const bool first_has_it = std::ranges::any_of(
        in_.variants[0].of().attributes, [](const CardAttribute& one) { return one.name == "_FillValue"; });
    const bool other_type = !same_type(*out_.type, *in_.variants[0].of().type);
    if (fill && (mapped_ || (other_type && first_has_it))) out_.fill_value = element_of(*fill, *out_.type);
    if (!fill && !meaning::is_integer(kind))
      fill = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
    if (fill) out_.gap_fill = element_of(*fill, *out_.type);
    out_.treatments = std::move(of_);
  }

  const Planning& plan_;
  const Gathered& in_;
  const TimeRule& times_;
  PlannedMember& out_;
  std::vector<Treatment> of_;         // of each variant
  std::optional<std::size_t> other_;  // a variant that is packed otherwise than the first
  bool scaled_ = false, bounded_ = false, may_miss_ = false, signed_otherwise_ = false;
  bool bounds_differ_ = false, signs_differ_ = false, fills_differ_ = false;
  std::optional<PackedValue> fill_;        // of all, if they are not NaN
  bool decoded_ = false, mapped_ = false;  // missing ones became NaN, or the fill of all
};

}  // namespace

Status pack_and_rebase(const Planning& plan, const Gathered& in, const TimeRule& times, PlannedMember& out) {
  return PackingRule(plan, in, times, out).apply();
}

}  // namespace h5mount::join
