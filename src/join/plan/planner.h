// The parts of making a plan (join/plan.h), one for each group of its rules. Pure; threads: one for each
// plan.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "h5mount/join/plan.h"

namespace h5mount::join {

// A file that takes part.
struct TakenFile {
  // A dimension that is the axis. Files can have several: dimensions of one name in several groups.
  struct Dimension {
    std::string_view scale;  // its path; of Axis::Kind::First empty
    std::uint64_t length = 0;
    bool by_scale_alone = false;  // by one without values, which may be shorter than others' dimension
    bool agreed = true;           // false: datasets of the file differ in its length (Axis::Kind::First)
  };
  FileCardPtr card;
  std::vector<Dimension> dimensions;
  std::uint64_t length = 0;  // along the axis

  std::string_view name() const { return card->path; }
  const Dimension* dimension(std::string_view scale) const;
};

// A card of a member, of one file or of several. Cards are few where files are alike, so rules look at them
// and not at files.
struct Variant {
  const MemberCardPtr* card = nullptr;  // in the file's card
  std::uint32_t file = 0;               // the first that has it
  std::uint64_t extent = 0;             // along the axis, if it has it
  std::string units;                    // as they count: with the epoch from the file's name
  const MemberCard& of() const { return **card; }
};

// A member of the joined file, as files have it.
struct Gathered {
  std::string_view path;
  std::vector<std::uint32_t> files;    // that have it, ascending
  std::vector<std::uint32_t> variant;  // of each of them, its number in `variants`
  std::vector<Variant> variants;
  std::unordered_map<std::uint64_t, std::uint32_t> known;  // numbers of variants, by the card's address
};

struct Planning {
  const Options& options;
  RequestBudget& budget;
  std::vector<TakenFile> files = {};  // at last in order
  std::vector<LeftOutFile> left_out = {};
  std::optional<Error> error = {};
  std::string coordinate = {};  // the path of the shallowest coordinate along the axis; empty: there is none
  // Of the members that are planned already: what they share, and how many parts they have together.
  std::vector<std::shared_ptr<const std::vector<std::uint64_t>>> starts = {};
  std::uint64_t parts = 0, rare_parts = 0;  // rare: of members that fewer than half of the files have

  std::string_view name(const Variant& variant) const { return files[variant.file].name(); }
  void leave_out(const FileCardPtr& card, std::string why);
};

Error cannot_join(std::string text);
std::string shown_path(std::string_view path);

// ---- the axis (plan_order.cpp, plan_new_axis.cpp)

struct AxisPlace {
  std::optional<std::uint32_t> dimension;
  bool twice = false;
};
AxisPlace axis_of(const Axis& axis, const MemberCard& member);
bool names_axis(const Axis& axis, std::string_view scale);

// Takes the files that can be joined and leaves out the others.
void take_files(std::vector<FileCardPtr> cards, Planning& plan);
// The most coordinates of that name, in different groups, of a file and of all.
inline constexpr std::size_t kMostCoordinates = 256;
// Rule 7. Errors are those of the budget.
Status order_files(Planning& plan);
void order_by_labels(Planning& plan);
// Rule 9: the coordinate of a new axis.
PlannedMember label_coordinate(const Planning& plan);

// The units of times in a file, with the epoch from its name where that is asked for.
std::string counted_units(const Planning& plan, const TakenFile& file, const MemberCard& member);
std::optional<meaning::TimeUnits> time_units(std::string_view units, std::string_view calendar);
bool is_since(std::string_view units);
bool same_calendars(std::string_view a, std::string_view b);
std::string_view shown_calendar(const MemberCard& card);

// A moment or a number, exactly: whole + fraction / 2^128, or larger than that can be, then `beyond` orders.
__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;
struct Instant {
  Int128 whole = 0;
  double beyond = 0;
  UInt128 fraction = 0;
  std::strong_ordering operator<=>(const Instant& other) const;
  bool operator==(const Instant& other) const { return (*this <=> other) == std::strong_ordering::equal; }
};
// `units`: of times, then in microseconds; null: the number itself.
Instant instant_of(const Number& number, const meaning::TimeUnits* units);

// ---- members

// Rules 1 and 2, and all others for a member. What cannot be joined is in PlannedMember::error.
PlannedMember plan_member(Planning& plan, const Gathered& in);
// What members are because of others. `members`: by path.
void settle_members(std::vector<PlannedMember>& members);

// Rule 3. Whether every element has the same stored bytes in both.
bool same_type(const format::Datatype& a, const format::Datatype& b);
Result<format::DatatypePtr> joined_type(const Planning& plan, const Gathered& in);

// Rules 4 and 5 for a member with the axis: sets types and treatments.
struct TimeRule {
  bool differs = false;     // units do, and are times
  bool to_integer = false;  // if packing leaves the numbers as they are stored
  meaning::TimeUnits to = {};
  std::vector<meaning::TimeUnits> from = {};  // of each variant
};
Result<TimeRule> time_rule(const Planning& plan, const Gathered& in);
Status pack_and_rebase(const Planning& plan, const Gathered& in, const TimeRule& times, PlannedMember& out);
bool equal_packings(const MemberCard& a, const MemberCard& b);
bool is_packing_attribute(std::string_view name);
// Rule 5 for copies: whether both hold the same numbers or moments.
bool equal_copies(const Variant& a, const Variant& b);

// Rule 6, and the attributes that rule 5 compares.
Status join_attributes(const Planning& plan, const Gathered& in, bool times, PlannedMember& out);
bool equal_attributes(const MemberCard& a, const MemberCard& b);

// Rule 8.
void plan_chunks(const Gathered& in, PlannedMember& out);

}  // namespace h5mount::join
