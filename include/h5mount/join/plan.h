// The plan of a joined file: which files in which order, what each member is, and what is done to the
// elements of each file. A pure function of cards and options. Its nine rules are the table 'RULES' of
// h5mount-joined(7). A plan is immutable; threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "h5mount/join/card.h"
#include "h5mount/join/options.h"

namespace h5mount::join {

// What is done to the elements of one file, in this order, before they are elements of the joined dataset.
struct Treatment {
  // Rule 4: unpacked as this says (`shown`: the type of the result; missing ones are NaN). Integers that
  // become NaN where they are missing have the scale 1.
  std::optional<meaning::Packing> unpack;
  // Rule 4, fills alone differ: an element that equals `own` becomes `joined`; one that equals `joined` and
  // is not `own` cannot be told from a missing one: EIO. Bits as AttributeNumbers has them.
  struct Fill {
    std::optional<std::uint64_t> own;
    std::uint64_t joined = 0;
  };
  std::optional<Fill> fill;
  // Rule 5: (value * from.unit + from.epoch - to.epoch) / to.unit, exactly, rounded once to the result's
  // type: int64 (then beyond it is EIO) or double.
  struct Rebase {
    meaning::TimeUnits from, to;
    bool to_integer = false;
    std::vector<std::uint64_t> keeps;  // fill values, which are no times: bits as AttributeNumbers has them
  };
  std::optional<Rebase> rebase;
  // Rules 3 to 5: converted to the type of the joined dataset at the end.
  bool operator==(const Treatment&) const;
  bool nothing() const { return !unpack && !fill && !rebase; }
};

// A file's part of the extent along the axis.
struct Part {
  std::uint32_t file = 0;  // number among Plan::files
  std::uint32_t treatment = 0;
};

struct PlannedMember {
  MemberCardPtr card;          // of the first file that has it: attributes, links, HDF5's fill
  std::uint32_t from = 0;      // that file: number among Plan::files
  std::optional<Error> error;  // it cannot be joined: names the files, the rule, and the option that would

  // ---- datasets
  format::DatatypePtr type;
  format::Dataspace space;
  std::optional<std::uint32_t> axis;  // the dimension that is joined; nullopt: one copy, of the file `from`
  bool added_axis = false;            // `axis` (0) is new: each file has one element of it
  // The parts in order; part i has the places [starts[i], starts[i + 1]) along the axis. Members of all files
  // of the same lengths share `starts`.
  std::shared_ptr<const std::vector<std::uint64_t>> starts;
  std::vector<Part> parts;  // a part whose file does not have the member is a gap: kGap in `treatment`
  std::vector<Treatment> treatments;
  static constexpr std::uint32_t kGap = ~std::uint32_t{0};
  std::vector<std::byte> gap_fill;  // an element of `type`; empty: there are no gaps
  // An element of `type`: the value of the attribute `_FillValue` in place of the first's, where fills were
  // mapped or the type is another; empty: the first's attribute, if it is kept.
  std::vector<std::byte> fill_value;
  // The elements themselves, of a coordinate that no file has (rule 9). Of strings: `texts`.
  std::vector<std::byte> made;
  std::vector<std::string> texts;

  std::vector<std::uint64_t> chunk;  // rule 8, for Zarr
  bool stored =
      false;  // chunks, filters, type and packing agree and parts end on chunks: they can be handed on

  // ---- attributes
  std::vector<std::string> attributes_differ;  // dropped (rule 6), by name
  std::vector<std::string> attributes_gone;    // dropped as they are no longer true (rules 4, 6)
  std::vector<std::pair<std::string, std::string>> attributes_set;  // texts in place of the first's (rule 5)
  std::vector<std::string> scales;  // by dimension: as MemberCard has them, with that of a new axis

  // ---- for user.hdf5.joined and files.jsonl
  std::uint64_t files = 0, missing_in = 0;
  bool unpacked = false, rebased = false, compared = true;
};

struct PlannedFile {
  FileCardPtr card;
  // Along the axis: of its shallowest dimension of that name. Members with another dimension of the name, or
  // of files without names (Axis::Kind::First), have their own `starts`.
  std::uint64_t position = 0, length = 0;
};
struct LeftOutFile {
  FileCardPtr card;
  Error why;
};

struct Plan {
  std::vector<PlannedFile> files;
  std::vector<LeftOutFile> left_out;
  std::vector<PlannedMember> members;  // by path; the first is the root; none if `error`
  std::optional<Error> error;          // nothing can be joined: order, all files left out…
  const PlannedMember* find(std::string_view path) const;
};
using PlanPtr = std::shared_ptr<const Plan>;

// `cards`: in the order given by the user, or any. The budget is charged for what it makes.
Result<PlanPtr> make_plan(std::vector<FileCardPtr> cards, const Options& options, RequestBudget& budget);

// The rows of files.jsonl and files.parquet: one for each file and variable, and one for each file left out.
struct FileRow {
  std::string_view file, path;
  std::optional<std::uint64_t> position, length;
  bool first = false;          // type and attributes are this file's
  std::string packing, units;  // JSON of the packing attributes; text
  std::string converted;       // what was done: "unpacked", "fill", "rebased", "type", by commas; or "gap"
  std::string error;
};
// Visits them; false stops. The views are valid during the call.
void for_each_row(const Plan& plan, const std::function<bool(const FileRow&)>& visit);

}  // namespace h5mount::join
