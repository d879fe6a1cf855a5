#include "grid_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "../objects/decoded.h"
#include "categories.h"
#include "group_members.h"
#include "h5mount/base/limits.h"
#include "h5mount/text/strict_json.h"
#include "h5mount/view/netcdf.h"

namespace h5mount::tree {

namespace {

struct Axis {
  std::string name;
  std::uint64_t coordinate = 0;  // the address of its dataset; 0: there is none
  std::uint64_t scale = 0;       // that of the dimension scale, which may have no values; 0: there is none
  std::uint64_t length = 0;      // of a dimension without a scale
  bool operator==(const Axis&) const = default;
};

// A variable of a grid.
struct GridVariable {
  std::vector<Axis> axes;
  GroupColumn column;
  std::string decoded;
};

// The last name of its path.
std::string own_name_of(ServedFile& file, std::uint64_t address) {
  std::string path = file.path_of_object(address);
  return path.substr(path.rfind('/') + 1);
}

// A scale that cannot be read, or has no values that a column could have, leaves a dimension without
// coordinate.
Result<Axis> axis_of(ServedFile& file, std::uint64_t scale, std::uint64_t length, std::size_t number,
                     RequestBudget& budget) {
  Axis out{fmt::format("dim_{}", number), 0, 0, length};
  if (scale == 0) return out;
  const auto object = file.object(scale, budget);
  if (!object && is_passing(object.error())) return fail(object.error());
  if (!object || (*object)->object.kind != object::ObjectKind::Dataset) return out;
  const auto described = known_description_of(file, **object);
  if (!described && is_passing(described.error())) return fail(described.error());
  if (!described || (*described)->space.rank() != 1) return out;
  out = {own_name_of(file, scale), 0, scale, 0};
  if (view::dimension_role(*(*object)->snapshot, (*object)->object).without_values) return out;
  const format::Datatype& type = *(*described)->type;
  const bool shown = text::is_string(type) || type.cls == format::DatatypeClass::Integer ||
                     type.cls == format::DatatypeClass::Float;
  // One of no values yet is the coordinate already: a table that is looked at now keeps its columns.
  if (shown && (*described)->space.max_dims[0] > 0) out.coordinate = scale;
  return out;
}

// nullopt: the object is no variable, or none of its dimensions has a coordinate.
Result<std::optional<GridVariable>> grid_variable_of(ServedFile& file, const OpenedObject& object,
                                                     const TableForm& form, RequestBudget& budget) {
  if (object.object.kind != object::ObjectKind::Dataset) return std::nullopt;
  const auto dataset = known_description_of(file, object);
  if (!dataset && is_passing(dataset.error())) return fail(dataset.error());
  if (!dataset || (*dataset)->space.rank() == 0) return std::nullopt;
  const view::DimensionRole role = view::dimension_role(*object.snapshot, object.object);
  if (role.is_scale || !role.has_scales) return std::nullopt;
  const format::Dataspace& space = (*dataset)->space;
  const auto scales =
      view::dimension_scales(file.value_context(object.snapshot, budget), object.object, space.rank(), role);
  GridVariable out;
  H5_ASSIGN(auto decoding, decoding_of_object(file, object, budget));
  std::size_t rank = space.rank();
  if (decoding && decoding->changes_shape) {
    out.column.first = decoding->derivations[0];
    if (--rank == 0) return std::nullopt;
  }
  bool placed = false;
  for (std::size_t i = 0; i < rank; ++i) {
    H5_ASSIGN(Axis axis, axis_of(file, scales[i], space.dims[i], i, budget));
    placed = placed || axis.coordinate != 0;
    out.axes.push_back(std::move(axis));
  }
  if (!placed) return std::nullopt;
  if (decoding) {
    object::DatasetDescription one = **dataset;  // the shape of its rows
    one.space.dims.resize(1);
    if (!decoding->changes_shape) out.column.then = decoding->derivation(one, form.shown_as);
    out.decoded = std::move(decoding->text);
  }
  out.column.address = object.object.address;
  out.column.described = *dataset;
  return std::optional(std::move(out));
}

std::string names_of(const std::vector<Axis>& axes) {
  std::string out;
  for (const Axis& axis : axes) out.append(out.empty() ? "" : ",").append(axis.name);
  return out;
}

struct Grid {
  std::string names;  // of its dimensions; unique in the group
  std::vector<GridVariable> variables;
};

Result<std::vector<Grid>> grids_in(ServedFile& file, const OpenedObject& group, const TableForm& form,
                                   RequestBudget& budget) {
  std::vector<Grid> out;
  std::map<std::string, std::size_t> by_names;
  H5_ASSIGN(const bool all,
            for_each_member(file, group, budget, [&](std::string name, const auto& object) -> Status {
              if (!object) return is_passing(object.error()) ? Status(fail(object.error())) : Status();
              H5_ASSIGN(auto variable, grid_variable_of(file, **object, form, budget));
              if (!variable) return {};
              variable->column.name = std::move(name);
              std::string names = names_of(variable->axes);
              // Dimensions of other groups may have the same names.
              for (std::size_t i = 2;; ++i) {
                const auto [at, added] = by_names.try_emplace(names, out.size());
                if (added) out.push_back({names, {}});
                Grid& grid = out[at->second];
                if (added || grid.variables[0].axes == variable->axes) {
                  grid.variables.push_back(*std::move(variable));
                  return {};
                }
                H5_TRY(budget.spend(limits::kMaxRank));
                names = fmt::format("{} ({})", names_of(variable->axes), i);
              }
            }));
  if (!all) out.clear();
  return out;
}

// The column of a dimension.
Result<GroupColumn> column_of(ServedFile& file, const Axis& axis, std::size_t number,
                              const GroupColumn& first, const TableForm& form, RequestBudget& budget) {
  GroupColumn out{.name = axis.name, .address = first.address, .kind = GroupColumn::Kind::Places};
  out.axis = number;
  out.described = first.described;
  if (axis.coordinate == 0) return out;
  H5_ASSIGN(const OpenedObjectPtr object, file.object(axis.coordinate, budget));
  H5_ASSIGN(const DatasetDescriptionPtr coordinate, known_description_of(file, *object));
  H5_ASSIGN(const auto decoding, decoding_of_object(file, *object, budget));
  const auto as = [&](dataset::ShownAs shown) {
    return decoding && !decoding->changes_shape ? decoding->derivation(*coordinate, shown) : nullptr;
  };
  // Those of one dimension are beside each other already.
  if (first.described->space.rank() == (first.first ? 2 : 1)) {
    out.kind = GroupColumn::Kind::Values;
    out.address = axis.coordinate;
    out.described = coordinate;
    out.then = as(form.shown_as);
    return out;
  }
  const auto elements = as(form.in_boxes() ? dataset::ShownAs::Bytes : dataset::ShownAs::Text);
  if (coordinate->space.dims[0] <= kMaxNames && coordinate->image_bytes <= kMaxNameBytes) {
    out.kind = GroupColumn::Kind::Codes;
    out.names = axis.coordinate;
    out.of_names = elements;
    return out;
  }
  out.kind = GroupColumn::Kind::Coordinate;
  out.address = axis.coordinate;
  out.described = coordinate;
  out.first = elements;
  return out;
}

// The first variable's text, which says what was applied to it, and the dimensions.
std::string decoded_text(const std::vector<GridVariable>& variables) {
  std::string out = variables.size() == 1 ? variables[0].decoded : "";
  if (out.empty()) out = R"({"convention":"CF"})";
  out.back() = ',';
  out += R"("dimensions":[)";
  for (const Axis& axis : variables[0].axes) {
    if (out.back() != '[') out += ',';
    text::append_json_string(axis.name, out);
  }
  return out + "]}";
}

Result<FoundColumns> columns_of(ServedFile& file, std::vector<GridVariable> variables, const TableForm& form,
                                RequestBudget& budget) {
  FoundColumns out;
  const std::vector<Axis>& axes = variables[0].axes;
  out.is_grid = axes.size() > 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    H5_ASSIGN(GroupColumn column, column_of(file, axes[i], i, variables[0].column, form, budget));
    out.columns.push_back(std::move(column));
  }
  out.decoded = decoded_text(variables);
  for (GridVariable& variable : variables) out.columns.push_back(std::move(variable.column));
  return out;
}

}  // namespace

Result<bool> is_grid(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  H5_ASSIGN(const auto variable, grid_variable_of(file, object, {.decoded = true}, budget));
  return variable.has_value();
}

Result<std::vector<NamedGrid>> grids_of_group(ServedFile& file, const OpenedObject& group,
                                              const TableForm& form, RequestBudget& budget) {
  H5_ASSIGN(std::vector<Grid> grids, grids_in(file, group, form, budget));
  std::vector<NamedGrid> out;
  for (Grid& grid : grids) {
    H5_ASSIGN(FoundColumns found, columns_of(file, std::move(grid.variables), form, budget));
    out.push_back({std::move(grid.names), std::move(found)});
  }
  return out;
}

Status find_grid_columns(ServedFile& file, const OpenedObject& object, const TableForm& form,
                         RequestBudget& budget, FoundColumns& found) {
  if (object.object.kind == object::ObjectKind::Group) {
    H5_ASSIGN(std::vector<NamedGrid> grids, grids_of_group(file, object, form, budget));
    const auto grid = form.grid.empty() && grids.size() == 1
                          ? grids.begin()
                          : std::ranges::find(grids, form.grid, &NamedGrid::names);
    if (grid != grids.end()) found = std::move(grid->found);
    return {};
  }
  H5_ASSIGN(auto variable, grid_variable_of(file, object, form, budget));
  if (!variable) return {};
  variable->column.name = own_name_of(file, object.object.address);
  std::vector<GridVariable> variables;
  variables.push_back(*std::move(variable));
  H5_ASSIGN(found, columns_of(file, std::move(variables), form, budget));
  return {};
}

}  // namespace h5mount::tree
