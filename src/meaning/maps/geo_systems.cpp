#include "geo_systems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "h5mount/base/text.h"

namespace h5mount::meaning {

namespace {

// The numbers of keys.
enum Key : std::uint16_t {
  kModelType = 1024,
  kRasterType = 1025,
  kGeographicType = 2048,
  kGeogCitation = 2049,
  kGeodeticDatum = 2050,
  kAngularUnits = 2054,
  kEllipsoid = 2056,
  kSemiMajorAxis = 2057,
  kSemiMinorAxis = 2058,
  kInvFlattening = 2059,
  kPrimeMeridianLong = 2061,
  kProjectedType = 3072,
  kProjectedCitation = 3073,
  kProjection = 3074,
  kCoordTrans = 3075,
  kLinearUnits = 3076,
  kStdParallel1 = 3078,
  kStdParallel2 = 3079,
  kNatOriginLong = 3080,
  kNatOriginLat = 3081,
  kFalseEasting = 3082,
  kFalseNorthing = 3083,
  kFalseOriginLong = 3084,
  kFalseOriginLat = 3085,
  kFalseOriginEasting = 3086,
  kFalseOriginNorthing = 3087,
  kCenterLong = 3088,
  kCenterLat = 3089,
  kScaleAtNatOrigin = 3092,
  kStraightVertPoleLong = 3095,
};
constexpr std::uint16_t kUserDefined = 32767, kProjected = 1, kGeographic = 2, kPixelIsArea = 1;
constexpr std::uint16_t kDegree = 9102, kMetre = 9001;

void add_key(std::vector<dataset::GeoKey>& keys, Key key, std::uint16_t value) {
  keys.push_back({key, value});
}
void add_key(std::vector<dataset::GeoKey>& keys, Key key, double value) {
  keys.push_back({key, value});
}
void add_key(std::vector<dataset::GeoKey>& keys, Key key, std::string text) {
  keys.push_back({key, std::move(text)});
}

std::vector<dataset::GeoKey> keys_of(std::uint16_t model) {
  return {{kModelType, model}, {kRasterType, kPixelIsArea}};
}

// ---- EPSG codes

struct Epsg {
  std::uint16_t code = 0;
  std::optional<bool> projected = {};  // nullopt: not said
};

// Codes of systems that fit in a key.
std::optional<std::uint16_t> code_in(std::string_view text) {
  constexpr std::uint16_t kLeast = 1024, kMost = 32766;
  const auto code = parse_whole<std::uint16_t>(trim(text, " \t\""));
  return code && *code >= kLeast && *code <= kMost ? code : std::nullopt;
}

// Which kind of system a keyword of WKT begins; nullopt: of none with two horizontal axes.
std::optional<bool> is_projected(std::string_view keyword) {
  for (const std::string_view name : {"PROJCS", "PROJCRS", "PROJECTEDCRS"})
    if (equals_ignoring_case(keyword, name)) return true;
  for (const std::string_view name : {"GEOGCS", "GEOGCRS", "GEOGRAPHICCRS", "GEODCRS", "GEODETICCRS"})
    if (equals_ignoring_case(keyword, name)) return false;
  return std::nullopt;
}

std::optional<std::uint16_t> code_of_identifier(std::string_view arguments) {
  const auto [authority, rest] = split_at(arguments.substr(0, 64), ',');
  if (!equals_ignoring_case(trim(authority, " \t\""), "EPSG")) return std::nullopt;
  return code_in(rest.substr(0, rest.find_first_of(",])")));
}

// The identifier of the first system in a text of WKT, version 1 or 2, that has horizontal axes: of a
// compound one the horizontal part.
std::optional<Epsg> epsg_in_wkt(std::string_view text) {
  Epsg out;
  std::size_t depth = 0, system = 0, keyword = 0;  // system: the depth of its parts
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '(') {
      const std::string_view name = trim(text.substr(keyword, i - keyword), " \t\r\n");
      const bool identifies = equals_ignoring_case(name, "AUTHORITY") || equals_ignoring_case(name, "ID");
      if (identifies && system != 0 && depth == system) {
        const auto code = code_of_identifier(text.substr(i + 1));
        if (!code) return std::nullopt;
        return Epsg{*code, out.projected};
      }
      ++depth;
      if (system == 0 && (out.projected = is_projected(name))) system = depth;
    } else if (c == ']' || c == ')') {
      if (depth == 0 || depth-- == system) return std::nullopt;
    }
    if (c == '[' || c == '(' || c == ',' || c == ']' || c == ')') keyword = i + 1;
  }
  return std::nullopt;
}

std::optional<Epsg> epsg_in(std::string_view text) {
  constexpr std::string_view kPrefix = "EPSG:";
  text = trim(text);
  if (!starts_ignoring_case(text, kPrefix)) return epsg_in_wkt(text);
  const auto code = code_in(text.substr(kPrefix.size()));
  return code ? std::optional(Epsg{*code}) : std::nullopt;
}

// The code that is stated; nullopt: there is none. One of the other kind of system does not count.
Result<std::optional<std::uint16_t>> stated_code(const Subject& mapping, bool projected) {
  for (const std::string_view name : {"crs_wkt", "spatial_ref", "epsg_code"}) {
    H5_ASSIGN(const std::string text, attribute_text(mapping, name));
    auto found = epsg_in(text);
    if (!found && name == "epsg_code") {
      H5_ASSIGN(const auto numbers, attribute_numbers(mapping, name));
      const bool one = numbers && numbers->bits.size() == 1;
      const auto code = code_in(one ? fmt::format("{}", as_double(*numbers, 0)) : text);
      if (code) found = Epsg{*code};
    }
    if (found && found->projected.value_or(projected) == projected) return found->code;
  }
  return std::nullopt;
}

GeoSystem system_of_code(std::uint16_t code, bool projected) {
  GeoSystem out{keys_of(projected ? kProjected : kGeographic), fmt::format("EPSG:{}", code)};
  add_key(out.keys, projected ? kProjectedType : kGeographicType, code);
  if (projected)
    add_key(out.keys, kLinearUnits, kMetre);
  else
    add_key(out.keys, kAngularUnits, kDegree);
  return out;
}

// ---- parameters of CF

class Parameters {
 public:
  explicit Parameters(const Subject& mapping) : mapping_(mapping) {}

  // Those of an attribute; empty: there are none.
  Result<std::vector<double>> all(std::string_view name) {
    H5_ASSIGN(const auto numbers, attribute_numbers(mapping_, name));
    std::vector<double> out;
    for (std::size_t i = 0; numbers && i < std::min<std::size_t>(numbers->bits.size(), 2); ++i)
      out.push_back(as_double(*numbers, i));
    for (const double number : out) sound_ = sound_ && std::isfinite(number);
    return out;
  }
  // The first number that one of the attributes has.
  Result<std::optional<double>> first(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      H5_ASSIGN(const auto numbers, all(name));
      if (!numbers.empty()) return numbers[0];
    }
    return std::nullopt;
  }
  // Whether all of them are finite.
  bool sound() const { return sound_; }

 private:
  const Subject& mapping_;
  bool sound_ = true;
};

// Adds the keys of the ellipsoid and the prime meridian; WGS 84 where nothing is said of them, and for its
// ellipsoid where `named`. Returns false if they are none.
Result<bool> add_geographic(Parameters& of, bool named, std::vector<dataset::GeoKey>& keys) {
  H5_ASSIGN(const auto radius, of.first({"earth_radius"}));
  H5_ASSIGN(const auto axis, of.first({"semi_major_axis"}));
  H5_ASSIGN(const auto minor, of.first({"semi_minor_axis"}));
  H5_ASSIGN(const auto flattening, of.first({"inverse_flattening"}));
  H5_ASSIGN(const auto meridian, of.first({"longitude_of_prime_meridian"}));
  const bool greenwich = meridian.value_or(0) == 0;
  constexpr std::uint16_t kWgs84 = 4326;
  constexpr double kMajor = 6378137, kInverse = 298.257223563;
  const double major = axis ? *axis : radius.value_or(kMajor);
  if (!of.sound() || !(major > 0)) return false;
  double inverse = 0;  // of a sphere
  if (flattening)
    inverse = *flattening;
  else if (minor)
    inverse = major == *minor ? 0 : major / (major - *minor);
  else if (!axis && !radius)
    inverse = kInverse;
  if (!std::isfinite(inverse) || (inverse != 0 && inverse <= 1)) return false;
  const bool is_wgs84 =
      (named || (!axis && !radius)) && major == kMajor && std::abs(inverse - kInverse) < 1e-8;
  if (is_wgs84 && greenwich) {
    add_key(keys, kGeographicType, kWgs84);
    add_key(keys, kAngularUnits, kDegree);
    return true;
  }
  add_key(keys, kGeographicType, kUserDefined);
  add_key(keys, kGeogCitation, "unknown");
  add_key(keys, kGeodeticDatum, kUserDefined);
  add_key(keys, kAngularUnits, kDegree);
  add_key(keys, kEllipsoid, kUserDefined);
  add_key(keys, kSemiMajorAxis, major);
  if (inverse == 0)
    add_key(keys, kSemiMinorAxis, major);
  else
    add_key(keys, kInvFlattening, inverse);
  if (!greenwich) add_key(keys, kPrimeMeridianLong, *meridian);
  return true;
}

// What a projection of CF is in GeoTIFF.
struct ProjectionKeys {
  std::uint16_t transformation = 0;
  struct Value {
    Key key;
    double value;
  };
  std::vector<Value> values = {};
};
constexpr std::uint16_t kTransverseMercator = 1, kMercator = 7, kConic2 = 8, kConic1 = 9, kAzimuthal = 10,
                        kAlbers = 11, kStereographic = 14, kPolar = 15, kOblique = 16, kSinusoidal = 24;

// What all projections are made of.
struct Origin {
  double longitude = 0, latitude = 0, scale = 1;
  std::vector<double> parallels;
};

std::optional<ProjectionKeys> conic(const Origin& at, std::string_view name) {
  const auto& parallels = at.parallels;
  if (parallels.empty()) return std::nullopt;
  const double second = parallels.back();
  if (name == "albers_conical_equal_area")
    return ProjectionKeys{kAlbers,
                          {{kStdParallel1, parallels[0]},
                           {kStdParallel2, second},
                           {kNatOriginLong, at.longitude},
                           {kNatOriginLat, at.latitude}}};
  if (parallels.size() == 1 && parallels[0] == at.latitude)
    return ProjectionKeys{
        kConic1,
        {{kNatOriginLong, at.longitude}, {kNatOriginLat, at.latitude}, {kScaleAtNatOrigin, at.scale}}};
  return ProjectionKeys{kConic2,
                        {{kStdParallel1, parallels[0]},
                         {kStdParallel2, second},
                         {kFalseOriginLong, at.longitude},
                         {kFalseOriginLat, at.latitude}}};
}

// The latitude is that of the true scale, on the side of the pole, or that of the pole with a scale.
std::optional<ProjectionKeys> polar(const Origin& at) {
  if (std::abs(at.latitude) != 90) return std::nullopt;
  const double of_scale = at.parallels.empty() ? at.latitude : std::copysign(at.parallels[0], at.latitude);
  return ProjectionKeys{
      kPolar,
      {{kNatOriginLat, of_scale}, {kScaleAtNatOrigin, at.scale}, {kStraightVertPoleLong, at.longitude}}};
}

std::optional<ProjectionKeys> keys_of_projection(const Origin& at, std::string_view name) {
  using Values = std::vector<ProjectionKeys::Value>;
  const Values natural = {{kNatOriginLong, at.longitude}, {kNatOriginLat, at.latitude}};
  const auto with = [&](Values values, ProjectionKeys::Value one) {
    values.push_back(one);
    return values;
  };
  if (name == "albers_conical_equal_area" || name == "lambert_conformal_conic") return conic(at, name);
  if (name == "polar_stereographic") return polar(at);
  if (name == "transverse_mercator")
    return ProjectionKeys{kTransverseMercator, with(natural, {kScaleAtNatOrigin, at.scale})};
  // CF's has one step, as PROJ's; the other one, of EPSG, goes through a sphere.
  if (name == "stereographic" || name == "oblique_stereographic")
    return ProjectionKeys{name == "stereographic" ? kStereographic : kOblique,
                          with(natural, {kScaleAtNatOrigin, at.scale})};
  if (name == "lambert_azimuthal_equal_area")
    return ProjectionKeys{kAzimuthal, {{kCenterLong, at.longitude}, {kCenterLat, at.latitude}}};
  if (name == "mercator")
    return ProjectionKeys{kMercator,
                          with({{kNatOriginLong, at.longitude}, {kNatOriginLat, 0}},
                               at.parallels.empty() ? ProjectionKeys::Value{kScaleAtNatOrigin, at.scale}
                                                    : ProjectionKeys::Value{kStdParallel1, at.parallels[0]})};
  return std::nullopt;
}

void add_projection(const ProjectionKeys& projection, double easting, double northing, std::string_view name,
                    std::vector<dataset::GeoKey>& keys) {
  add_key(keys, kProjectedType, kUserDefined);
  add_key(keys, kProjectedCitation, std::string(name));
  add_key(keys, kProjection, kUserDefined);
  add_key(keys, kCoordTrans, projection.transformation);
  add_key(keys, kLinearUnits, kMetre);
  for (const auto& [key, value] : projection.values) add_key(keys, key, value);
  const bool origin_is_false = projection.transformation == kConic2;
  add_key(keys, origin_is_false ? kFalseOriginEasting : kFalseEasting, easting);
  add_key(keys, origin_is_false ? kFalseOriginNorthing : kFalseNorthing, northing);
  std::ranges::sort(keys, {}, &dataset::GeoKey::id);
}

}  // namespace

GeoSystem GeoSystem::without(std::string reason) {
  return {{}, {}, std::move(reason)};
}

GeoSystem wgs84_system() {
  return system_of_code(4326, false);
}

Result<GeoSystem> geographic_system(const Subject* mapping) {
  if (mapping == nullptr) return wgs84_system();
  H5_ASSIGN(const auto code, stated_code(*mapping, false));
  if (code) return system_of_code(*code, false);
  GeoSystem out{keys_of(kGeographic), "latitude_longitude"};
  Parameters parameters(*mapping);
  H5_ASSIGN(const bool sound, add_geographic(parameters, true, out.keys));
  if (!sound) return GeoSystem::without("the ellipsoid is none");
  const bool is_code = out.keys[2].value != decltype(out.keys[2].value)(kUserDefined);
  return is_code ? wgs84_system() : out;
}

Result<GeoSystem> projected_system(const Subject& mapping, double factor) {
  constexpr std::size_t kMostOfName = 64;
  H5_ASSIGN(const auto code, stated_code(mapping, true));
  if (code) return system_of_code(*code, true);
  H5_ASSIGN(const std::string name, attribute_text(mapping, "grid_mapping_name"));
  if (name.empty()) return GeoSystem::without("the grid mapping has no name and no EPSG code");
  Parameters of(mapping);
  Origin at;
  H5_ASSIGN(const auto longitude,
            of.first({"longitude_of_central_meridian", "straight_vertical_longitude_from_pole",
                      "longitude_of_projection_origin"}));
  H5_ASSIGN(const auto latitude, of.first({"latitude_of_projection_origin"}));
  H5_ASSIGN(const auto scale,
            of.first({"scale_factor_at_central_meridian", "scale_factor_at_projection_origin"}));
  H5_ASSIGN(at.parallels, of.all("standard_parallel"));
  H5_ASSIGN(const auto easting, of.first({"false_easting"}));
  H5_ASSIGN(const auto northing, of.first({"false_northing"}));
  at.longitude = longitude.value_or(0), at.latitude = latitude.value_or(0), at.scale = scale.value_or(1);
  GeoSystem out{keys_of(kProjected), name};
  H5_ASSIGN(const bool sound, add_geographic(of, false, out.keys));
  if (!sound) return GeoSystem::without("the ellipsoid or a parameter is no number");
  const auto projection = keys_of_projection(at, name);
  if (!projection)
    return GeoSystem::without(
        fmt::format("GeoTIFF has no such grid mapping as {}", name.substr(0, kMostOfName)));
  add_projection(*projection, easting.value_or(0) * factor, northing.value_or(0) * factor, name, out.keys);
  return out;
}

GeoSystem sinusoidal_system(double radius, double longitude, double easting, double northing) {
  GeoSystem out{keys_of(kProjected), "sinusoidal"};
  add_key(out.keys, kGeographicType, kUserDefined);
  add_key(out.keys, kGeogCitation, "unknown");
  add_key(out.keys, kGeodeticDatum, kUserDefined);
  add_key(out.keys, kAngularUnits, kDegree);
  add_key(out.keys, kEllipsoid, kUserDefined);
  add_key(out.keys, kSemiMajorAxis, radius);
  add_key(out.keys, kSemiMinorAxis, radius);
  add_projection({kSinusoidal, {{kCenterLong, longitude}}}, easting, northing, "sinusoidal", out.keys);
  return out;
}

}  // namespace h5mount::meaning
