#include <fmt/format.h>

#include <array>
#include <map>

#include "../booleans.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/text.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/meaning/numbers.h"
#include "h5mount/meaning/packing.h"
#include "pandas_group.h"

namespace h5mount::meaning {

namespace {

using Kind = PickledValue::Kind;

// The type of an array without elements, whose dataset is one of another type.
format::DatatypePtr numpy_type(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames = {"int8",   "int16",  "int32",  "int64",   "uint8",
                                                       "uint16", "uint32", "uint64", "float32", "float64"};
  if (name == "bool") return boolean_type();
  if (name.starts_with("datetime64") || name.starts_with("timedelta64")) return type_of(NumberKind::I64);
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return nullptr;
  return type_of(static_cast<NumberKind>(found - kNames.begin()));
}

// The fixed format: arrays for the index, for the names of columns, and for the values of each block.
class PandasFixed {
 public:
  explicit PandasFixed(PandasGroup& group) : group_(group) {}

  Status read_series() {
    H5_TRY(read_index("index"));
    H5_ASSIGN(const auto name, group_.attribute(group_.subject().object, "name"));
    const bool named = name && name->root().kind != Kind::None;
    return read_block("values",
                      std::vector{(named ? name->name(name->root()) : std::nullopt).value_or("values")});
  }

  Status read_frame() {
    constexpr std::uint64_t kMostBlocks = 4096;
    H5_TRY(read_index("axis1"));
    H5_ASSIGN(const auto names, names_in("axis0"));
    for (std::size_t i = 0; names && i < names->size(); ++i) order_.emplace((*names)[i], i);
    H5_ASSIGN(const std::uint64_t blocks, count_in("nblocks"));
    for (std::uint64_t i = 0; i < std::min(blocks, kMostBlocks); ++i) {
      H5_ASSIGN(const auto items, names_in(fmt::format("block{}_items", i)));
      H5_TRY(read_block(fmt::format("block{}_values", i), items));
    }
    if (blocks > kMostBlocks) group_.leave_out("blocks", "more than a table has");
    return {};
  }

 private:
  using Names = std::optional<std::vector<std::string>>;

  Result<std::uint64_t> count_in(std::string_view attribute) const {
    H5_ASSIGN(const auto value, group_.attribute(group_.subject().object, attribute));
    return (value ? parse_whole<std::uint64_t>(value->root().text) : std::nullopt).value_or(0);
  }

  // An array that pandas_column describes.
  struct Array {
    PandasGroup::Member member;
    format::DatatypePtr type = nullptr;  // of its elements
    std::string dtype = {};              // pandas' name of that, or of the kind
    std::uint64_t row_bytes = 0, columns = 1;
    bool no_rows = false, pickled = false;
  };
  // nullopt: there is none. It has one dimension or two.
  Result<std::optional<Array>> array(std::string_view path) const {
    H5_ASSIGN(auto member, group_.dataset(path));
    if (!member) return std::nullopt;
    Array out{.member = *std::move(member)};
    const object::Object& object = out.member.object;
    const object::DatasetDescription& dataset = out.member.dataset;
    const auto& dims = dataset.space.dims;
    out.type = dataset.type;
    out.pickled = out.type->cls == format::DatatypeClass::VariableLength;
    if (dims.empty() || dims.size() > 2) return std::nullopt;
    for (const std::string_view name : {"kind", "value_type"}) {
      H5_ASSIGN(std::string dtype, group_.text(object, name));
      if (!dtype.empty()) out.dtype = std::move(dtype);
    }
    H5_ASSIGN(const auto shape, group_.attribute(object, "shape"));
    for (const PickledValue* const length :
         shape ? shape->items(shape->root()) : std::vector<const PickledValue*>())
      out.no_rows = out.no_rows || length->text == "0";
    out.no_rows = out.no_rows || dataset.image_bytes == 0;
    out.columns = dims.size() == 2 && !out.no_rows ? dims[1] : 1;
    const auto row = checked_mul(out.columns, dataset.element_size);
    if (!row || *row > limits::kMaxTableRowBytes) return std::nullopt;
    out.row_bytes = *row;
    if (!out.no_rows || out.pickled) return std::optional(std::move(out));
    if (auto type = numpy_type(out.dtype); type && type->size <= out.row_bytes) out.type = std::move(type);
    return std::optional(std::move(out));
  }

  RecordColumn column_of(const Array& array, std::string name, dataset::ShownAs form) const {
    RecordColumn out = pandas_column(std::move(name), 0, array.type, array.dtype, group_.texts(), form);
    if (array.no_rows && array.type == boolean_type()) out.stored_bytes = 1;
    return out;
  }

  PandasGroup::Column column_of(const Array& array, std::string name) const {
    return {.address = array.member.object.address,
            .row_bytes = array.row_bytes,
            .no_rows = array.no_rows,
            .record = column_of(array, std::move(name), group_.subject().form)};
  }

  Result<std::optional<std::string>> name_of(const Array& array) const {
    H5_ASSIGN(const auto name, group_.attribute(array.member.object, "name"));
    return name && name->root().kind != Kind::None ? name->name(name->root()) : std::nullopt;
  }

  Result<bool> is_multi(std::string_view key) const {
    H5_ASSIGN(const std::string variety,
              group_.text(group_.subject().object, fmt::format("{}_variety", key)));
    return variety == "multi";
  }
  static constexpr std::uint64_t kMostLevels = 64;

  Status read_index(std::string_view key) {
    H5_ASSIGN(const bool multi, is_multi(key));
    if (multi) return read_levels(key);
    H5_ASSIGN(const auto found, array(key));
    if (!found) {
      group_.leave_out("index", "not readable");
      return {};
    }
    H5_ASSIGN(const auto named, name_of(*found));
    const std::string name = named.value_or("index");
    if (found->pickled || found->columns != 1) {
      group_.leave_out(name, found->pickled ? "pickled" : "two dimensions");
      return {};
    }
    H5_ASSIGN(const auto zone, group_.attribute(found->member.object, "tz"));
    group_.note_type(name, found->dtype, zone ? &zone->root() : nullptr);
    group_.add_index(column_of(*found, name));
    return {};
  }

  // Each level of the index: codes, and their names.
  Status read_levels(std::string_view key) {
    H5_ASSIGN(const std::uint64_t levels, count_in(fmt::format("{}_nlevels", key)));
    for (std::uint64_t i = 0; i < std::min(levels, kMostLevels); ++i) {
      H5_ASSIGN(const auto codes, array(fmt::format("{}_label{}", key, i)));
      H5_ASSIGN(const auto level, array(fmt::format("{}_level{}", key, i)));
      const auto named = level ? name_of(*level) : Result<std::optional<std::string>>(std::nullopt);
      H5_TRY(named);
      std::string name = named->value_or(fmt::format("level_{}", i));
      if (!codes || !level || codes->columns != 1 || level->columns != 1 || codes->pickled) {
        group_.leave_out(std::move(name), "not readable");
        continue;
      }
      if (level->pickled) {
        group_.leave_out(std::move(name), "pickled");
        continue;
      }
      group_.note_type(name, level->dtype, nullptr);
      PandasGroup::Column column = column_of(*codes, std::move(name));
      column.names = level->member.object.address;
      column.names_derivation = derive_column(column_of(*level, "names", dataset::ShownAs::TextTable),
                                              level->row_bytes, level->no_rows);
      group_.add_index(std::move(column));
    }
    return {};
  }

  Status read_block(const std::string& key, const Names& names) {
    H5_ASSIGN(const auto found, array(key));
    const char* const why = !found ? "not readable" : found->pickled ? "pickled" : nullptr;
    if (why != nullptr) {
      if (!names) group_.leave_out(key, why);
      for (std::size_t i = 0; names && i < names->size(); ++i) group_.leave_out((*names)[i], why);
      return {};
    }
    H5_ASSIGN(const auto transposed, group_.attribute(found->member.object, "transposed"));
    if (found->columns > 1 && transposed && transposed->root().text == "0") {
      group_.leave_out(key, "columns that are stored as rows");
      return {};
    }
    H5_ASSIGN(const auto zone, group_.attribute(found->member.object, "tz"));
    const PandasGroup::Column first = column_of(*found, "");
    const std::uint64_t columns = found->no_rows && names ? names->size() : found->columns;
    if (columns > limits::kMaxTableColumns) {
      group_.leave_out(key, std::string(kTooManyColumns));
      return {};
    }
    for (std::uint64_t i = 0; i < columns; ++i) {
      PandasGroup::Column column = first;
      if (!found->no_rows) column.record.offset = i * found->member.dataset.element_size;
      column.named = names && i < names->size();
      column.order = kLastColumn;
      if (column.named) {
        column.record.name = (*names)[static_cast<std::size_t>(i)];
        const auto place = order_.find(column.record.name);
        if (place != order_.end()) column.order = place->second;
        group_.note_type(column.record.name, found->dtype, zone ? &zone->root() : nullptr);
      }
      H5_TRY(group_.add(std::move(column)));
    }
    return {};
  }

  // The names of columns, or of one level of them. nullopt: they are not readable.
  Result<Names> names_in(const std::string& key) const {
    H5_ASSIGN(const bool multi, is_multi(key));
    if (multi) return names_of_levels(key);
    H5_ASSIGN(const auto found, array(key));
    return found ? values_of(*found, false) : Result<Names>(std::nullopt);
  }

  // As the tuples that they are, in Python's form.
  Result<Names> names_of_levels(const std::string& key) const {
    H5_ASSIGN(const std::uint64_t levels, count_in(key + "_nlevels"));
    std::vector<std::string> out;
    for (std::uint64_t i = 0; i < levels; ++i) {
      H5_ASSIGN(const auto codes, array(fmt::format("{}_label{}", key, i)));
      H5_ASSIGN(const auto level, array(fmt::format("{}_level{}", key, i)));
      if (levels > kMostLevels || !codes || !level) return Names();
      H5_ASSIGN(const Names of_codes, values_of(*codes, false));
      H5_ASSIGN(const Names of_level, values_of(*level, true));
      if (!of_codes || !of_level || (i > 0 && of_codes->size() != out.size())) return Names();
      out.resize(of_codes->size());
      for (std::size_t k = 0; k < out.size(); ++k) {
        const auto code = parse_whole<std::size_t>((*of_codes)[k]);
        const bool known = code && *code < of_level->size();
        out[k] += fmt::format("{}{}", i == 0 ? "(" : ", ", known ? (*of_level)[*code] : "nan");
        if (out[k].size() > kMostNameBytes) return Names();
      }
    }
    for (std::string& name : out) name += levels == 1 ? ",)" : ")";
    return Names(std::move(out));
  }
  static constexpr std::size_t kMostNameBytes = 4096;

  // Texts are quoted as Python quotes them if `quoted`.
  Result<Names> values_of(const Array& array, bool quoted) const {
    constexpr std::uint64_t kMostBytes = 4U << 20;
    const auto& open = group_.subject().reader;
    if (!open || array.pickled || array.columns != 1) return Names();
    const auto stored = open(array.member.object.address);
    if (!stored) return is_passing(stored.error()) ? Result<Names>(fail(stored.error())) : Names();
    const auto derived =
        derive_column(column_of(array, "", dataset::ShownAs::TextTable), array.row_bytes, array.no_rows)
            ->open(*stored);
    if (!derived || (*derived)->size() > kMostBytes) return Names();
    const format::Datatype& type = *(*derived)->description().type;
    if ((*derived)->size() / type.size > limits::kMaxTableColumns) return Names();
    std::vector<std::byte> bytes(static_cast<std::size_t>((*derived)->size()));
    H5_TRY((*derived)->read_into(0, bytes, group_.subject().values.budget));
    std::vector<std::string> out;
    for (std::size_t at = 0; at < bytes.size(); at += type.size) {
      H5_ASSIGN(std::string name, name_of_element(type, ByteSpan(bytes).subspan(at, type.size), quoted));
      out.push_back(std::move(name));
    }
    return Names(std::move(out));
  }

  Result<std::string> name_of_element(const format::Datatype& type, ByteSpan element, bool quoted) const {
    std::string out;
    const auto number = number_type(type);
    if (text::is_string(type)) {
      H5_TRY(text::append_string(type, element, group_.subject().values, out));
      return quoted ? python_quoted(out) : out;
    }
    if (&type == boolean_type().get()) return std::string(element[0] != std::byte{0} ? "True" : "False");
    if (number && !is_integer(number->kind)) {
      const auto value = text::double_of(type, element);
      if (value) return python_float(*value);
    }
    H5_TRY(text::append_json(type, element, group_.subject().values, out));
    return out;
  }

  PandasGroup& group_;
  std::map<std::string, std::size_t> order_;
};

}  // namespace

Status read_pandas_fixed(PandasGroup& group, bool is_series) {
  PandasFixed fixed(group);
  return is_series ? fixed.read_series() : fixed.read_frame();
}

}  // namespace h5mount::meaning
