#include "table_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "../objects/decoded.h"
#include "../objects/group_contents.h"
#include "categories.h"
#include "grid_columns.h"
#include "shown_columns.h"

namespace h5mount::tree {

namespace {

bool can_grow(const format::Dataspace& space) {
  return !space.max_dims.empty() && space.max_dims[0] > space.dims[0];
}

// The part of a link of the group in its table.
struct Member {
  GroupColumn column;                 // `described` is null if it is no column
  TableNotes::LeftOut left_out = {};  // if it is no column; without a name if that goes without saying
};

// Finds columns, all in one form.
class ColumnFinder {
 public:
  ColumnFinder(ServedFile& file, const TableForm& form, RequestBudget& budget, bool measured)
      : file_(file), form_(form), budget_(budget), measured_(measured) {}

  Result<FoundColumns> find(const OpenedObject& object) {
    FoundColumns found;
    const bool group = object.object.kind == object::ObjectKind::Group;
    if (group && !form_.decoded && object.object.address == file_.root_address()) return found;
    Member alone{.column = {.name = "value"}};
    H5_TRY(find_column(object, alone));
    if (alone.column.names || alone.column.mask) {
      found.columns.push_back(std::move(alone.column));
      return found;
    }
    if (form_.decoded) {
      H5_ASSIGN(const bool stated, find_stated(object, found));
      if (stated) return found;
      H5_TRY(find_grid_columns(file_, object, form_, budget_, found));
      if (!found.columns.empty()) return found;
    }
    if (!group) return found;
    H5_TRY(find_majority(object, found));
    return found;
  }

 private:
  Result<DatasetDescriptionPtr> describe(std::uint64_t address) const {
    H5_ASSIGN(const OpenedObjectPtr dataset, file_.object(address, budget_));
    return measured_ ? description_of(file_, *dataset, budget_) : known_description_of(file_, *dataset);
  }

  // What a convention says to be a table. Its members that are none are left out.
  Result<bool> find_stated(const OpenedObject& object, FoundColumns& found) {
    H5_ASSIGN(auto stated, table_of_object(file_, object, form_.shown_as, budget_));
    if (!stated) return false;
    found.decoded = std::move(stated->text);
    for (auto& [name, why] : stated->left_out)
      found.notes.left_out.push_back({std::move(name), std::move(why), true});
    std::optional<std::uint64_t> rows;
    for (meaning::TableColumn& one : stated->columns) {
      H5_TRY(budget_.spend(kStepsPerLink));
      Member member{.column = {.name = std::move(one.name)}};
      if (one.derivation || one.names || one.mask || one.lists) {
        member.column = {member.column.name, one.address, one.lists ? one.lists : one.names, one.mask};
        if (one.lists) member.column.kind = GroupColumn::Kind::Lists;
        member.column.then = std::move(one.derivation);
        member.column.of_names = std::move(one.names_derivation);
        const auto space = describe_datasets(member.column);
        H5_TRY(unless_unreadable(member, space ? Status() : Status(fail(space.error()))));
      } else {
        H5_ASSIGN(member, member_of(file_.object(one.address, budget_), std::move(member.column.name)));
      }
      GroupColumn& column = member.column;
      if (column.described) {
        const std::uint64_t length = column.described->space.dims.at(0);
        if (rows.value_or(length) != length)
          member.left_out = {column.name, fmt::format("of length {}", length), true};
        rows = rows.value_or(length);
      }
      add(std::move(member), found);
    }
    return !found.columns.empty();
  }

  static void add(Member member, FoundColumns& found) {
    if (!member.left_out.name.empty())
      found.notes.left_out.push_back(std::move(member.left_out));
    else if (member.column.described)
      found.columns.push_back(std::move(member.column));
  }

  // Describes what stands for the column's dataset.
  Result<format::Dataspace> describe_datasets(GroupColumn& column) const {
    H5_ASSIGN(column.described, describe(column.address));
    if (column.mask) {
      H5_ASSIGN(column.mask_described, describe(*column.mask));
    }
    H5_ASSIGN(const object::DatasetDescription shown, describe_column(column, *column.described, nullptr));
    return shown.space;
  }

  // Finds out what the object is as a column.
  Status find_column(const OpenedObject& object, Member& out) const {
    GroupColumn& column = out.column;
    H5_ASSIGN(const std::optional<CategoricalPlace> categorical, find_categorical(file_, object, budget_));
    H5_ASSIGN(const auto nullable, categorical ? std::nullopt : find_nullable(file_, object, budget_));
    column.address = object.object.address;
    if (categorical) {
      column.address = categorical->codes;
      column.names = categorical->names;
    } else if (nullable) {
      column.address = nullable->values;
      column.mask = nullable->mask;
    } else if (object.object.kind == object::ObjectKind::Group) {
      if (const std::string encoding = encoding_of(object); !encoding.empty())
        out.left_out = {column.name, "a group with the encoding-type " + encoding, true};
      return {};
    } else if (object.object.kind != object::ObjectKind::Dataset) {
      return {};
    } else if (form_.decoded) {
      H5_TRY(find_decoding(object, column));
    }
    H5_ASSIGN(const format::Dataspace space, describe_datasets(column));
    if (space.rank() == 1) return {};
    out.left_out = {column.name,
                    space.kind == format::DataspaceKind::Null ? "no elements"
                    : space.rank() == 0                       ? "a scalar"
                                                              : fmt::format("{} dimensions", space.rank()),
                    false};
    column.described = nullptr;
    return {};
  }

  Status find_decoding(const OpenedObject& object, GroupColumn& column) const {
    H5_ASSIGN(const auto decoding, decoding_of_object(file_, object, budget_));
    if (!decoding) return {};
    H5_ASSIGN(const DatasetDescriptionPtr dataset, known_description_of(file_, object));
    if (dataset->space.rank() == (decoding->changes_shape ? 2 : 1))
      column.then =
          decoding->changes_shape ? decoding->derivations[0] : decoding->derivation(*dataset, form_.shown_as);
    return {};
  }

  // An object that cannot be read is left out: the table is that of the others, and says so.
  static Status unless_unreadable(Member& out, const Status& found) {
    if (found) return {};
    const ErrorCode why = found.error().code();
    if (!is_about_bytes(why) && why != ErrorCode::TooLarge && why != ErrorCode::UnsupportedFeature)
      return fail(found.error());
    out.column.described = nullptr;
    out.left_out = {out.column.name, "not readable: " + found.error().text(), true};
    return {};
  }

  Result<Member> member_of(const Result<OpenedObjectPtr>& object, std::string name) const {
    Member out{.column = {.name = std::move(name)}};
    H5_TRY(unless_unreadable(out, object ? find_column(**object, out) : Status(fail(object.error()))));
    return out;
  }

  // The rows of the table that more than half of the columns have, at least two. Columns of a file that is
  // followed may be in the middle of being appended to: those that can grow count as equally long.
  struct Majority {
    std::uint64_t rows = 0;
    bool of_growing = false;

    bool has(const format::Dataspace& space) const {
      return of_growing ? can_grow(space) : space.dims[0] == rows;
    }
  };
  static std::optional<Majority> majority_of(const std::vector<Member>& members, bool may_differ) {
    std::map<std::uint64_t, std::size_t> by_rows;
    std::size_t all = 0, growing = 0;
    for (const Member& member : members) {
      if (!member.column.described) continue;
      const format::Dataspace& space = member.column.described->space;
      ++all;
      ++by_rows[space.dims[0]];
      if (may_differ && can_grow(space)) ++growing;
    }
    const auto is_table = [&](std::size_t count) { return count >= 2 && 2 * count > all; };
    const auto most = std::ranges::max_element(by_rows, {}, [](const auto& entry) { return entry.second; });
    if (is_table(growing) && growing >= most->second) return Majority{.of_growing = true};
    if (most == by_rows.end() || !is_table(most->second)) return std::nullopt;
    return Majority{.rows = most->first};
  }

  // Keeps what it opens, for those who go on to the members: the cache does not have room for all.
  Status find_majority(const OpenedObject& group, FoundColumns& found) {
    constexpr std::size_t kMostKept = 4U << 20;
    std::size_t kept_bytes = 0;
    std::vector<Member> members;
    const auto add_member = [&](std::string name, const Result<OpenedObjectPtr>& object) -> Status {
      H5_ASSIGN(Member member, member_of(object, std::move(name)));
      members.push_back(std::move(member));
      if (object) kept_bytes += memory_bytes(**object);
      if (object && kept_bytes <= kMostKept) found.opened.push_back(*object);
      return {};
    };
    H5_ASSIGN(const bool all, for_each_member(file_, group, budget_, add_member));
    if (!all) return {};
    const std::optional<Majority> table = majority_of(members, file_.followed().following());
    if (!table) {
      const auto is_column = [](const Member& member) { return member.column.described != nullptr; };
      if (std::ranges::count_if(members, is_column) >= 2)
        found.notes.no_table = "no length that more than half of its columns have";
      return {};
    }
    for (Member& member : members) {
      const GroupColumn& column = member.column;
      if (column.described && !table->has(column.described->space))
        member.left_out = {column.name, fmt::format("of length {}", column.described->space.dims[0]), true};
      add(std::move(member), found);
    }
    return {};
  }

  ServedFile& file_;
  const TableForm& form_;
  RequestBudget& budget_;
  const bool measured_;
};

}  // namespace

Result<FoundColumns> find_columns(ServedFile& file, const OpenedObject& object, const TableForm& form,
                                  RequestBudget& budget, bool measured) {
  return ColumnFinder(file, form, budget, measured).find(object);
}

}  // namespace h5mount::tree
