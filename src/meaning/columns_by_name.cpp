// Tables whose columns an attribute names in their order: AnnData's dataframes
// (https://anndata.readthedocs.io, "on-disk format"), NWB's DynamicTable
// (https://hdmf-common-schema.readthedocs.io).
#include "conventions.h"
#include "h5mount/base/limits.h"
#include "members.h"

namespace h5mount::meaning {

namespace {

// Adds what the link leads to as a column, or why there is none.
Result<std::optional<std::uint64_t>> add_named(const object::Group& group, const std::string& name,
                                               RequestBudget& budget, TableDecoding& out) {
  constexpr std::uint64_t kSteps = 1000;
  H5_TRY(budget.spend(kSteps));
  H5_ASSIGN(const auto address, member_named(group, name));
  if (address)
    out.columns.push_back({name, *address});
  else
    out.left_out.push_back({name, "not there"});
  return address;
}

Result<std::unique_ptr<object::Group>> group_of(const GroupSubject& subject) {
  return object::Group::open(subject.values.file, subject.object);
}

Result<std::vector<std::string>> names_in(const GroupSubject& subject, std::string_view attribute,
                                          TableDecoding& out) {
  H5_ASSIGN(auto names,
            attribute_texts(subject.object, subject.values, attribute, limits::kMaxTableLinks + 1));
  if (names.size() <= limits::kMaxTableLinks) return names;
  names.pop_back();
  out.left_out.push_back({"the columns behind " + names.back(), "more than a table has"});
  return names;
}

// The lists of a column of NWB: the dataset beside it that has the end of each. Lists of lists have two.
Status make_lists(const object::Group& group, TableDecoding& out) {
  TableColumn& column = out.columns.back();
  H5_ASSIGN(const auto ends, member_named(group, column.name + "_index"));
  if (!ends) return {};
  H5_ASSIGN(const auto twice, member_named(group, column.name + "_index_index"));
  if (twice) {
    out.left_out.push_back({column.name, "lists of lists"});
    out.columns.pop_back();
    return {};
  }
  column.lists = column.address;
  column.address = *ends;
  return {};
}

}  // namespace

Result<std::optional<TableDecoding>> decode_anndata(const GroupSubject& subject) {
  H5_ASSIGN(const auto encoding, attribute_texts(subject.object, subject.values, "encoding-type", 1));
  if (encoding.empty() || encoding[0] != "dataframe") return std::nullopt;
  H5_ASSIGN(const auto index, attribute_texts(subject.object, subject.values, "_index", 1));
  TableDecoding out{.text = R"({"convention":"AnnData"})"};
  H5_ASSIGN(const auto order, names_in(subject, "column-order", out));
  H5_ASSIGN(const auto group, group_of(subject));
  if (!index.empty()) H5_TRY(add_named(*group, index[0], subject.values.budget, out));
  for (const std::string& name : order) H5_TRY(add_named(*group, name, subject.values.budget, out));
  return std::optional(std::move(out));
}

Result<std::optional<TableDecoding>> decode_nwb(const GroupSubject& subject) {
  H5_ASSIGN(const auto type, attribute_texts(subject.object, subject.values, "neurodata_type", 1));
  if (type.empty()) return std::nullopt;
  TableDecoding out{.text = R"({"convention":"NWB"})"};
  H5_ASSIGN(const auto names, names_in(subject, "colnames", out));
  H5_ASSIGN(const auto group, group_of(subject));
  H5_ASSIGN(const auto id, member_named(*group, "id"));
  if (names.empty() && !id) return std::nullopt;
  if (id) out.columns.push_back({"id", *id});
  for (const std::string& name : names) {
    H5_ASSIGN(const auto found, add_named(*group, name, subject.values.budget, out));
    if (found) H5_TRY(make_lists(*group, out));
  }
  return std::optional(std::move(out));
}

}  // namespace h5mount::meaning
