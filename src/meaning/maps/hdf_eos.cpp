#include "hdf_eos.h"

#include <cmath>

#include "h5mount/base/text.h"
#include "h5mount/dataset/open_dataset.h"
#include "h5mount/object/resolve_path.h"

namespace h5mount::meaning {

namespace {

constexpr std::string_view kInformation = "HDFEOS INFORMATION";

// What the text says of one grid.
struct StatedGrid {
  std::string_view name, projection, origin, upper_left, lower_right, parameters, sphere;
  std::optional<std::uint64_t> columns, rows;
  std::string_view dimensions;  // of the field
};

std::string_view without_quotes(std::string_view text) {
  return trim(text, " \t\r\"");
}

void take_line(std::string_view key, std::string_view value, std::string_view field, StatedGrid& out,
               bool& is_field) {
  if (key == "GridName") out.name = without_quotes(value);
  if (key == "XDim") out.columns = parse_whole<std::uint64_t>(value);
  if (key == "YDim") out.rows = parse_whole<std::uint64_t>(value);
  if (key == "UpperLeftPointMtrs") out.upper_left = value;
  if (key == "LowerRightMtrs") out.lower_right = value;
  if (key == "Projection") out.projection = value;
  if (key == "GridOrigin") out.origin = value;
  if (key == "SphereCode") out.sphere = value;
  if (key == "ProjParams") out.parameters = value;
  if (key == "DataFieldName") is_field = without_quotes(value) == field;
  if (key == "DimList" && is_field) out.dimensions = value;
}

// Lines of KEY=VALUE, between GROUP=GRID_n and its end. How deep groups are nested does not matter.
std::optional<StatedGrid> find_grid(std::string_view text, std::string_view name, std::string_view field) {
  StatedGrid grid;
  bool in_grids = false, is_field = false;
  while (!text.empty()) {
    auto [key, value] = split_at(take_until(text, '\n'), '=');
    key = trim(key, " \t\r"), value = trim(value, " \t\r");
    if (key == "GROUP" && value == "GridStructure") in_grids = true;
    if (!in_grids) continue;
    if (key == "END_OBJECT") is_field = false;
    if (key == "GROUP" && value.starts_with("GRID_")) grid = {};
    const bool ends = key == "END_GROUP" && (value.starts_with("GRID_") || value == "GridStructure");
    if (ends && grid.name == name) return grid;
    if (key == "END_GROUP" && value == "GridStructure") break;
    take_line(key, value, field, grid, is_field);
  }
  return std::nullopt;
}

// The last two of a list of quoted names.
bool are_rows_of_columns(std::string_view list) {
  const std::vector<std::string_view> names = split(trim(list, "()"), ',');
  return names.size() >= 2 && without_quotes(names[names.size() - 2]) == "YDim" &&
         without_quotes(names.back()) == "XDim";
}

std::optional<std::vector<double>> numbers_in(std::string_view list) {
  constexpr std::size_t kMost = 13;
  std::vector<double> out;
  for (const std::string_view text : split(trim(list, "()").substr(0, 1024), ',')) {
    const auto number = parse_whole<double>(trim(text));
    if (!number || !std::isfinite(*number) || out.size() == kMost) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

// Degrees of DDDMMMSSS.SS.
std::optional<double> degrees_of(double packed) {
  const double size = std::abs(packed);
  const double degrees = std::floor(size / 1e6);
  const double minutes = std::floor((size - degrees * 1e6) / 1e3);
  const double seconds = size - degrees * 1e6 - minutes * 1e3;
  if (degrees > 360 || minutes >= 60 || seconds >= 60) return std::nullopt;
  return std::copysign(degrees + minutes / 60 + seconds / 3600, packed);
}

GeoSystem system_of(const StatedGrid& grid, bool geographic) {
  if (geographic) return wgs84_system();
  constexpr double kSphere = 6370997;  // GCTP's own
  if (!grid.projection.ends_with("GCTP_SNSOID"))
    return GeoSystem::without("a projection of HDF-EOS5 that is neither geographic nor sinusoidal");
  const auto stated = numbers_in(grid.parameters);
  std::vector<double> parameters = stated.value_or(std::vector<double>());
  parameters.resize(13);
  const auto longitude = degrees_of(parameters[4]);
  const bool own_sphere = grid.sphere.empty() || grid.sphere == "-1" || grid.sphere == "19";
  if (!stated || !longitude || parameters[0] < 0 || (parameters[0] == 0 && !own_sphere))
    return GeoSystem::without("parameters that are none");
  return sinusoidal_system(parameters[0] == 0 ? kSphere : parameters[0], *longitude, parameters[6],
                           parameters[7]);
}

std::optional<EosGrid> placed(const StatedGrid& grid) {
  const bool geographic = grid.projection.ends_with("GCTP_GEO");
  auto first = numbers_in(grid.upper_left), last = numbers_in(grid.lower_right);
  if (geographic && grid.upper_left == "DEFAULT") first = {-180e6, 90e6};
  if (geographic && grid.lower_right == "DEFAULT") last = {180e6, -90e6};
  if (!first || !last || first->size() != 2 || last->size() != 2) return std::nullopt;
  for (double* const number : {&(*first)[0], &(*first)[1], &(*last)[0], &(*last)[1]}) {
    const auto degrees = geographic ? degrees_of(*number) : std::optional(*number);
    if (!degrees) return std::nullopt;
    *number = *degrees;
  }
  // The corner at which rows and columns begin.
  if (grid.origin.ends_with("_LL") || grid.origin.ends_with("_LR")) std::swap((*first)[1], (*last)[1]);
  if (grid.origin.ends_with("_UR") || grid.origin.ends_with("_LR")) std::swap((*first)[0], (*last)[0]);
  EosGrid out{(*first)[0], (*first)[1], ((*last)[0] - (*first)[0]) / static_cast<double>(*grid.columns),
              ((*last)[1] - (*first)[1]) / static_cast<double>(*grid.rows), system_of(grid, geographic)};
  const bool even = std::isfinite(out.column_step) && std::isfinite(out.row_step) && out.column_step != 0 &&
                    out.row_step != 0;
  return even ? std::optional(std::move(out)) : std::nullopt;
}

Result<std::string> read_metadata(const Subject& subject) {
  constexpr std::uint64_t kMostBytes = 1U << 20;
  const metadata::FileMetadataPtr& file = subject.values.file;
  object::PathWork work{.budget = subject.values.budget};
  H5_ASSIGN(const std::uint64_t group, object::resolve_path(file, file->root_address(), kInformation, work));
  H5_ASSIGN(const std::uint64_t address, object::resolve_path(file, group, "StructMetadata.0", work));
  H5_ASSIGN(const object::Object object, object::open_object(*file, address));
  H5_ASSIGN(object::DatasetDescription dataset, object::describe_dataset(*file, object));
  const bool is_one = dataset.image_bytes == dataset.element_size && dataset.image_bytes <= kMostBytes;
  if (!is_one || !text::is_string(*dataset.type))
    return fail({ErrorCode::UnsupportedFeature, "no text of this length"});
  H5_TRY(subject.values.budget.spend(2 * dataset.image_bytes));
  const format::DatatypePtr type = dataset.type;
  H5_ASSIGN(const auto reader, dataset::open_dataset(*subject.environment, subject.file, std::move(dataset)));
  std::vector<std::byte> element(static_cast<std::size_t>(reader->size()));
  H5_TRY(reader->read_into(0, element, subject.values.budget));
  text::ValueContext values = subject.values;
  values.max_bytes = kMostBytes;
  std::string out;
  H5_TRY(text::append_string(*type, element, values, out));
  return out;
}

}  // namespace

Result<bool> is_hdf_eos(const Subject& subject) {
  object::PathWork work{.budget = subject.values.budget};
  const metadata::FileMetadataPtr& file = subject.values.file;
  const auto found = object::resolve_path(file, file->root_address(), kInformation, work);
  if (!found && is_passing(found.error())) return fail(found.error());
  return found.has_value();
}

Result<std::optional<EosGrid>> eos_grid_of(const Subject& subject, std::string_view path) {
  const std::vector<std::string_view> names = split(path, '/');
  if (names.size() != 6 || names[1] != "HDFEOS" || names[2] != "GRIDS" || names[4] != "Data Fields")
    return std::nullopt;
  const auto text = read_metadata(subject);
  if (!text && is_passing(text.error())) return fail(text.error());
  const auto grid = text ? find_grid(*text, names[3], names[5]) : std::nullopt;
  const auto& dims = subject.dataset.space.dims;
  if (!grid || !are_rows_of_columns(grid->dimensions) || dims.size() < 2 ||
      grid->rows != dims[dims.size() - 2] || grid->columns != dims.back())
    return std::nullopt;
  return placed(*grid);
}

}  // namespace h5mount::meaning
