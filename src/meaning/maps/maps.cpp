#include "h5mount/meaning/maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "h5mount/base/text.h"
#include "h5mount/base/utf8.h"
#include "h5mount/meaning/coordinates.h"
#include "h5mount/object/resolve_path.h"
#include "hdf_eos.h"

namespace h5mount::meaning {

namespace {

struct Spacing {
  double first = 0, step = 0;
};

// Of which object of which state of the file something was read.
struct CoordinateKey {
  std::uint64_t snapshot = 0, address = 0;
  bool vertical = false;
  bool operator==(const CoordinateKey&) const = default;

  std::uint64_t hash() const {
    return address ^ (2 * snapshot + (vertical ? 1 : 0)) * std::uint64_t{0x9E37'79B9'7F4A'7C15};
  }
};

}  // namespace

// A coordinate as rows or columns of a map.
struct PlacedAxis {
  CoordinateKey key;
  std::string name;
  double factor = 0;
  std::optional<Spacing> spacing;  // nullopt: it is none of a map
};

struct PageAxis {
  CoordinateKey key;
  std::shared_ptr<const dataset::Placement::Axis> axis;
};

namespace {

using dataset::Placement;

// What `memory` has for the key, else what `read` makes.
template <class T, class Read>
Result<std::shared_ptr<const T>> remembered(LruCache<T>& memory, const CoordinateKey& key, const Read& read) {
  std::shared_ptr<const T> known = memory.find(key.hash());
  if (known && known->key == key) return known;
  auto made = std::make_shared<T>();
  H5_ASSIGN(*made, read());
  made->key = key;
  std::size_t bytes = sizeof(T) + 256;
  if constexpr (requires { made->axis; })
    bytes += made->axis ? made->axis->text.capacity() + 4 * made->axis->ends.capacity() : 0;
  memory.insert(key.hash(), made, bytes);
  return made;
}

// ---- coordinates

// Metres of one unit of length; nullopt: another unit.
std::optional<double> metres_of(std::string_view unit) {
  for (const std::string_view name : {"m", "metre", "meter", "metres", "meters"})
    if (unit == name) return 1;
  for (const std::string_view name : {"km", "kilometre", "kilometer", "kilometres", "kilometers"})
    if (unit == name) return 1000;
  return std::nullopt;
}

// What coordinates of the vertical or the horizontal dimension of a map are; a factor of 0: degrees.
Result<std::optional<double>> factor_of(const Subject& coordinate, bool vertical) {
  H5_ASSIGN(const std::string units, attribute_text(coordinate, "units"));
  H5_ASSIGN(const std::string name, attribute_text(coordinate, "standard_name"));
  if (name == (vertical ? "projection_y_coordinate" : "projection_x_coordinate")) return metres_of(units);
  bool degrees = name == (vertical ? "latitude" : "longitude") &&
                 (units.empty() || units == "degree" || units == "degrees");
  const std::string_view suffix = vertical ? "north" : "east";
  for (const std::string_view stem : {"degrees_", "degree_", "degrees", "degree"})
    for (const std::string_view end : {suffix, suffix.substr(0, 1)})
      degrees = degrees || (starts_ignoring_case(units, stem) &&
                            equals_ignoring_case(std::string_view(units).substr(stem.size()), end));
  return degrees && !name.starts_with("grid_") ? std::optional(0.0) : std::nullopt;
}

// nullopt: they are not evenly spaced.
std::optional<Spacing> spacing_of(const CoordinateNumbers& numbers) {
  constexpr double kThousandth = 1e-3, kPrecision = 0x1p-23;
  const std::vector<double>& values = numbers.values;
  if (values.size() < 2) return std::nullopt;
  const double step = (values.back() - values.front()) / static_cast<double>(values.size() - 1);
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  const double tolerance = std::max(std::abs(step) * kThousandth, numbers.singles ? most * kPrecision : 0);
  if (!std::isfinite(most) || !std::isfinite(step) || !(std::abs(step) > tolerance)) return std::nullopt;
  for (std::size_t i = 1; i < values.size(); ++i)
    if (!(std::abs(values[i] - values[i - 1] - step) <= tolerance)) return std::nullopt;
  return Spacing{values.front(), step};
}

Result<PlacedAxis> read_placed(const Subject& subject, const Coordinate& coordinate, bool vertical) {
  PlacedAxis out{.key = {}, .name = coordinate.name, .spacing = {}};
  H5_ASSIGN(const auto factor, factor_of(subject_of(subject, coordinate), vertical));
  if (!factor) return out;
  out.factor = *factor;
  H5_ASSIGN(const auto numbers, coordinate_numbers(subject, coordinate));
  if (numbers) out.spacing = spacing_of(*numbers);
  return out;
}

CoordinateKey key_of(const Subject& subject, const Coordinate& coordinate, bool vertical) {
  return {subject.values.file->number(), coordinate.object.address, vertical};
}

// Null: it is none of a map.
Result<std::shared_ptr<const PlacedAxis>> placed_axis(const Subject& subject, bool vertical,
                                                      MapMemory& memory) {
  const std::size_t axis = subject.dataset.space.dims.size() - (vertical ? 2 : 1);
  H5_ASSIGN(const auto coordinate, coordinate_of(subject, axis));
  if (!coordinate) return nullptr;
  H5_ASSIGN(const auto out, remembered(memory.placed, key_of(subject, *coordinate, vertical),
                                       [&] { return read_placed(subject, *coordinate, vertical); }));
  return out->spacing ? out : nullptr;
}

// ---- grid mappings

// The variable that an attribute names: `crs`, or `crs: x y other: lat lon`, of which the one for the
// coordinate counts. Empty: none.
std::string mapping_named(std::string_view text, std::string_view coordinate) {
  std::string first, present;
  bool extended = false;
  while (!text.empty()) {
    const std::string_view word = take_until(text, ' ');
    if (word.empty()) continue;
    if (word.ends_with(':')) {
      present = word.substr(0, word.size() - 1);
      extended = true;
    } else if (extended && word == coordinate) {
      return present;
    }
    if (first.empty()) first = extended ? present : std::string(word);
  }
  return first;
}

// It is in the group of the dataset, or in the nearest one above that has it.
Result<std::optional<object::Object>> find_mapping(const Subject& subject, std::string_view name,
                                                   std::string_view path) {
  constexpr unsigned kMostGroups = 32;
  const metadata::FileMetadataPtr& file = subject.values.file;
  std::string known;
  if (path.empty() && subject.values.path_of != nullptr)
    known = subject.values.path_of(subject.object.address).value_or("");
  if (path.empty()) path = known;
  object::PathWork work{.budget = subject.values.budget, .names_left = 4096};
  for (unsigned i = 0; i < kMostGroups && !path.empty(); ++i) {
    path = path.substr(0, path.rfind('/'));
    const std::string place = name.starts_with('/') ? std::string(name) : fmt::format("{}/{}", path, name);
    const auto address = object::resolve_path(file, file->root_address(), place, work);
    if (!address && is_passing(address.error())) return fail(address.error());
    if (!address) continue;
    auto object = object::open_object(*file, *address);
    if (object) return *std::move(object);
    if (is_passing(object.error())) return fail(object.error());
  }
  return std::nullopt;
}

Result<GeoSystem> system_of_map(const Subject& subject, const PlacedAxis& x, std::string_view path) {
  H5_ASSIGN(const std::string text, attribute_text(subject, "grid_mapping"));
  const std::string name = mapping_named(text, x.name);
  std::optional<object::Object> object;
  if (!name.empty()) {
    H5_ASSIGN(object, find_mapping(subject, name, path));
  }
  const bool degrees = x.factor == 0;
  if (!object && degrees) return geographic_system(nullptr);
  if (!object) return GeoSystem::without(name.empty() ? "no grid_mapping" : "its grid_mapping is missing");
  const Subject mapping{*object, subject.dataset, subject.values};
  return degrees ? geographic_system(&mapping) : projected_system(mapping, x.factor);
}

// ---- all of a map

// Short character data of XML.
std::string shown_text(std::string_view text) {
  constexpr std::size_t kMostBytes = 64;
  std::string out(utf8_prefix(text, kMostBytes));
  const bool sound = is_utf8(out);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !sound) || std::string_view("<>&\"").contains(c))
      c = '?';
  }
  return out;
}

Result<PageAxis> read_page_axis(const Subject& subject, const Coordinate& coordinate) {
  H5_ASSIGN(auto texts, coordinate_texts(subject, coordinate));
  if (!texts) return PageAxis();
  Placement::Axis out;
  out.name = shown_text(coordinate.name);
  if (out.name.empty()) out.name = "dimension";
  if (texts->numbers) {
    H5_ASSIGN(const std::string units, attribute_text(subject_of(subject, coordinate), "units"));
    out.units = shown_text(units);
  }
  out.text = std::move(texts->text), out.ends = std::move(texts->ends);
  for (char& c : out.text)
    if (static_cast<unsigned char>(c) - 0x20U >= 0x5F || std::string_view("<>&\"").contains(c)) c = '?';
  std::uint32_t begin = 0;
  for (const std::uint32_t end : out.ends) {
    out.longest = std::max<std::size_t>(out.longest, end - begin);
    begin = end;
  }
  out.charge = std::move(texts->charge);
  return PageAxis{{}, std::make_shared<const Placement::Axis>(std::move(out))};
}

// What is there beside the place.
Status describe_pages(const Subject& subject, const Decoding* decoding, const format::Datatype& shown,
                      MapMemory& memory, Placement& out) {
  const auto& dims = subject.dataset.space.dims;
  out.rows = dims[dims.size() - 2], out.columns = dims.back();
  if (shown.cls == format::DatatypeClass::Float)
    out.no_data = "nan";
  else if (decoding != nullptr)
    out.no_data = decoding->fill;
  H5_ASSIGN(const std::string units, attribute_text(subject, "units"));
  out.units = shown_text(units);
  for (std::size_t i = 0; i + 2 < dims.size(); ++i) {
    H5_ASSIGN(const auto coordinate, coordinate_of(subject, i));
    auto& axis = out.axes.emplace_back();
    if (!coordinate) continue;
    H5_ASSIGN(const auto read, remembered(memory.pages, key_of(subject, *coordinate, false),
                                          [&] { return read_page_axis(subject, *coordinate); }));
    axis = read->axis;
  }
  return {};
}

std::string text_of(const Decoding* decoding, const GeoSystem& system) {
  std::string out = decoding != nullptr ? decoding->text : R"({"convention":"CF"})";
  out.pop_back();
  out += R"(,"map":)" + text::json_string(system.name.empty() ? "place" : system.name);
  if (system.name.empty()) out += R"(,"no_system":)" + text::json_string(system.reason);
  return out + "}";
}

Result<std::optional<EosGrid>> cf_grid_of(const Subject& subject, std::string_view path, MapMemory& memory) {
  H5_ASSIGN(const auto y, placed_axis(subject, true, memory));
  if (!y) return std::nullopt;
  H5_ASSIGN(const auto x, placed_axis(subject, false, memory));
  if (!x || (x->factor == 0) != (y->factor == 0)) return std::nullopt;
  H5_ASSIGN(GeoSystem system, system_of_map(subject, *x, path));
  const double width = x->factor == 0 ? 1 : x->factor, height = y->factor == 0 ? 1 : y->factor;
  const Spacing across = *x->spacing, down = *y->spacing;
  EosGrid out{(across.first - across.step / 2) * width, (down.first - down.step / 2) * height,
              across.step * width, down.step * height, std::move(system)};
  const bool sound = std::isfinite(out.left) && std::isfinite(out.top);
  return sound ? std::optional(std::move(out)) : std::nullopt;
}

Result<std::optional<EosGrid>> grid_of(const Subject& subject, std::string_view path, MapMemory& memory) {
  H5_ASSIGN(auto by_coordinates, cf_grid_of(subject, path, memory));
  if (by_coordinates) return by_coordinates;
  H5_ASSIGN(const bool eos, is_hdf_eos(subject));
  if (!eos) return std::nullopt;
  if (!path.empty() || subject.values.path_of == nullptr) return eos_grid_of(subject, path);
  return eos_grid_of(subject, subject.values.path_of(subject.object.address).value_or(""));
}

Result<std::optional<Map>> sound_map_of(const Subject& subject, const Decoding* decoding,
                                        std::string_view path, MapMemory& memory) {
  if (subject.dataset.space.dims.size() < 2 || subject.environment == nullptr) return std::nullopt;
  format::DatatypePtr shown = subject.dataset.type;
  if (decoding != nullptr) {
    const auto& derivation = decoding->derivations[static_cast<std::size_t>(dataset::ShownAs::Bytes)];
    if (decoding->changes_shape) return std::nullopt;
    if (derivation) {
      H5_ASSIGN(const object::DatasetDescription described, derivation->describe(subject.dataset));
      shown = described.type;
    }
  }
  using enum format::DatatypeClass;
  if (shown->cls != Float && shown->cls != Integer && shown->cls != Enum) return std::nullopt;
  H5_ASSIGN(auto grid, grid_of(subject, path, memory));
  if (!grid) return std::nullopt;
  auto placement = std::make_shared<Placement>();
  H5_TRY(describe_pages(subject, decoding, *shown, memory, *placement));
  Map out{text_of(decoding, grid->system), nullptr};
  placement->left = grid->left, placement->top = grid->top;
  placement->column_step = grid->column_step, placement->row_step = grid->row_step;
  placement->keys = std::move(grid->system.keys);
  out.derivation = dataset::derive_placed(std::move(placement));
  return std::optional(std::move(out));
}

}  // namespace

Result<std::optional<Map>> map_of(const Subject& subject, const Decoding* decoding, std::string_view path,
                                  MapMemory& memory) {
  auto out = sound_map_of(subject, decoding, path, memory);
  if (!out && !is_passing(out.error())) return std::nullopt;
  return out;
}

}  // namespace h5mount::meaning
