#include "parquet_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "../table/cell_text.h"
#include "h5mount/base/bytes.h"
#include "h5mount/base/utf8.h"
#include "parquet_dictionary.h"
#include "parquet_types.h"

namespace h5mount::view {

namespace {

using format::DatatypeClass;
using Conversion = ParquetColumn::Conversion;
using namespace parquet;

// The footer is in memory while the file is open: the bounds are for its part about the groups, and for the
// rest.
constexpr std::uint64_t kMaxGroupsBytes = 32U << 20;
constexpr std::uint64_t kMaxSchemaBytes = 8U << 20;
constexpr std::uint64_t kGroupBytes = 4U << 20;       // of a row group, as stored: a block of the cache
constexpr std::uint64_t kMaxGroupBytes = 32U << 20;   // there are three copies while it is made
constexpr std::uint64_t kMaxValueBytes = 1ULL << 62;  // of all columns
// The bound on the dictionaries of all columns, which every row group has: a column that exceeds it shows its
// integers.
constexpr std::uint64_t kMaxDictionaryBytes = 8U << 20;

Error no_form(std::string why) {
  return {ErrorCode::UnsupportedFeature, std::move(why)};
}

int size_index(std::uint32_t bytes) {
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
}

Status set_number(ParquetColumn& column, const format::DatatypePtr& number) {
  const format::Datatype& type = *number;
  const std::string text = text::datatype_text(type);
  if (text.size() != 3 || !std::string_view("<>|").contains(text[0]))
    return fail(no_form(fmt::format("Parquet has no type for {}", text)));
  column.type = number;
  if (type.cls == DatatypeClass::Float) {
    column.physical = type.size == 8 ? kDouble : kFloat;
    column.value_bytes = type.size == 8 ? 8 : 4;
    column.conversion = type.size == 2 ? Conversion::HalfFloat : Conversion::Bytes;
    return {};
  }
  column.physical = type.size == 8 ? kInt64 : kInt32;
  column.value_bytes = type.size == 8 ? 8 : 4;
  column.converted = (type.is_signed ? kInt8 : kUint8) + size_index(type.size);
  column.conversion = type.is_signed ? Conversion::SignExtend : Conversion::ZeroExtend;
  return {};
}

bool is_timestamp(const format::Datatype& type) {
  return type.cls == DatatypeClass::Opaque && type.size == sizeof(std::int64_t) &&
         (type.tag == dataset::kTimestampTag || type.tag == "NUMPY:M8[us]");
}

void set_timestamp(ParquetColumn& column) {
  column.physical = kInt64;
  column.value_bytes = sizeof(std::int64_t);
  column.is_timestamp = true;
}

Status set_list(ParquetColumn& column, const object::CategoriesPtr& lists) {
  H5_TRY(set_number(column, lists->element));
  column.element = column.conversion;
  column.conversion = Conversion::List;
  column.list = ParquetColumn::List{lists};
  return {};
}

// The names of a type's values, written once.
class EnumNames {
 public:
  Result<std::shared_ptr<const std::string>> of(const format::Datatype& type) {
    std::shared_ptr<const std::string>& known = known_[&type];
    if (known) return known;
    std::string names;
    for (const format::EnumMember& member : type.enum_members) {
      names += names.empty() ? "{" : ",";
      text::append_json_string(member.name, names);
      names += ':';
      H5_TRY(text::append_json(*type.base, member.value, {{}, Unbounded()}, names));
    }
    names += names.empty() ? "{}" : "}";
    return known = std::make_shared<const std::string>(std::move(names));
  }

 private:
  std::map<const format::Datatype*, std::shared_ptr<const std::string>> known_;
};

// Whether the type is h5py's boolean.
bool is_parquet_boolean(const format::Datatype& type) {
  return type.cls == DatatypeClass::Enum && text::datatype_text(type) == "|b1";
}

// The dictionaries of a table; columns of one type, or with the same categories, share one.
class Dictionaries {
 public:
  std::uint64_t bytes() const { return bytes_; }  // of all columns

  // If the source is a column of codes, or of an enumeration of one byte, makes the column one of indices.
  // `boxes`: of a grid, if the column is an axis of it.
  Status set(const Column& source, const object::GridRows* boxes, ParquetColumn& column) {
    const object::Categories* const names =
        source.categories && source.categories->known ? source.categories.get() : nullptr;
    const format::Datatype& type = *source.type;
    if (names == nullptr && (type.cls != DatatypeClass::Enum || type.size != 1)) return {};
    if (names != nullptr && names->type) return set_values(source, *boxes, column);
    const std::uint64_t most = names != nullptr ? dictionary_bytes(*names) : most_dictionary_bytes(type);
    if (most > kMaxDictionaryBytes - bytes_) return {};  // so there are fewer names than 24 bits count
    ParquetDictionaryPtr& dictionary = known_[names != nullptr ? static_cast<const void*>(names) : &type];
    if (!dictionary && names != nullptr) dictionary = category_dictionary(*names);
    if (!dictionary) {
      H5_ASSIGN(dictionary, enum_dictionary(type));
    }
    bytes_ += dictionary->page.size();
    column.dictionary = dictionary;
    column.conversion = Conversion::Index;
    column.physical = kByteArray;
    column.value_bytes = index_bytes(dictionary->count);
    column.converted = dictionary->utf8 ? std::optional(kUtf8) : std::nullopt;
    if (names == nullptr) return {};
    column.categories = source.categories;
    column.type = source.type;
    column.optional = column.optional || type.is_signed;
    return {};
  }

 private:
  // Names that are numbers or times: each group has those of its box.
  Status set_values(const Column& source, const object::GridRows& boxes, ParquetColumn& column) {
    const object::Categories& names = *source.categories;
    column.type = nullptr;
    column.converted = std::nullopt;
    if (names.type->cls == DatatypeClass::Opaque)
      set_timestamp(column);
    else
      H5_TRY(set_number(column, names.type));
    auto dictionary = std::make_shared<ParquetDictionary>();
    dictionary->count = static_cast<std::uint32_t>(names.count());
    dictionary->value_bytes = column.value_bytes;
    dictionary->page.reserve(std::size_t{dictionary->count} * column.value_bytes);
    for (std::size_t at = 0; at < names.values.size(); at += names.type->size)
      append_le(column.type ? value_bits(column, names.values.data() + at)
                            : load_le<std::uint64_t>(names.values.data() + at),
                column.value_bytes, dictionary->page);
    const std::uint64_t most = boxes.box(0).count.at(*column.axis);
    bytes_ += most * column.value_bytes;
    column.dictionary = std::move(dictionary);
    column.conversion = Conversion::Index;
    column.value_bytes = index_bytes(most);
    column.categories = source.categories;
    column.type = source.type;
    column.optional = true;
    return {};
  }

  std::map<const void*, ParquetDictionaryPtr> known_;
  std::uint64_t bytes_ = 0;
};

// `boxes`: of a grid, if the column is an axis of it.
Status add_column(const Column& source, const object::GridRows* boxes, EnumNames& names,
                  Dictionaries& dictionaries, std::vector<ParquetColumn>& out) {
  const format::Datatype& type = *source.type;
  ParquetColumn column{.name = escape_invalid_utf8(source.name, "%{:02X}"),
                       .offset = source.offset,
                       .axis = boxes != nullptr ? std::optional(out.size()) : std::nullopt,
                       .optional = source.mask.has_value(),
                       .mask = source.mask};
  if (is_complex(type)) {
    const bool own = type.cls == DatatypeClass::Complex;
    const format::DatatypePtr& part = own ? type.base : type.members[0].type;
    H5_TRY(set_number(column, part));
    const std::string name = column.name;
    for (std::size_t i = 0; i < 2; ++i) {
      column.name = name + (i == 0 ? ".real" : ".imag");
      column.offset = source.offset + (own ? i * part->size : type.members[i].offset);
      out.push_back(column);
    }
    return {};
  }
  const bool reference = type.cls == DatatypeClass::Reference;
  const bool list = source.categories && source.categories->list;
  if (list && source.categories->element) {
    H5_TRY(set_list(column, source.categories));
    out.push_back(std::move(column));
    return {};
  }
  if (text::is_string(type) || reference || list) {
    column.physical = kByteArray;
    column.conversion = Conversion::Text;
    column.text = std::make_shared<const Cell>(source);
    column.optional = column.optional || reference;
    out.push_back(std::move(column));
    return {};
  }
  if (is_parquet_boolean(type)) {
    column.physical = kBoolean;
    column.conversion = Conversion::Bits;
    out.push_back(std::move(column));
    return {};
  }
  switch (type.cls) {
    case DatatypeClass::Integer:
    case DatatypeClass::Float:
      H5_TRY(set_number(column, source.type));
      break;
    case DatatypeClass::Enum: {
      H5_TRY(set_number(column, type.base));
      H5_ASSIGN(column.enum_names, names.of(type));
      break;
    }
    case DatatypeClass::Opaque:
      if (is_timestamp(type)) {
        set_timestamp(column);
        break;
      }
      [[fallthrough]];
    case DatatypeClass::Bitfield:
      column.physical = kFixedBytes;
      column.value_bytes = type.size;
      break;
    default:
      return fail(no_form("members that are neither numbers, strings nor bytes"));
  }
  H5_TRY(dictionaries.set(source, boxes, column));
  out.push_back(std::move(column));
  return {};
}

// The bytes of a row, from which a group's size is chosen; the bytes of a string are not in the row.
std::uint64_t weight_of_row(const Table& table) {
  constexpr std::uint64_t kString = 64;  // of variable length, an estimate
  std::uint64_t bytes = table.row_bytes;
  for (const Column& column : table.columns)
    if (column.type->has_variable_part) bytes += kString;
  return bytes;
}

// A group holds whole rows of chunks if these are small, so that no chunk is needed for two groups. `entry`:
// the bytes of a group in the footer.
std::uint64_t rows_of_group(const object::DatasetDescription& dataset, const Table& table,
                            std::uint64_t entry, std::uint64_t dictionary_bytes, std::uint64_t most) {
  const std::uint64_t least =
      std::max<std::uint64_t>(1, divide_up(table.rows, std::max<std::uint64_t>(1, kMaxGroupsBytes / entry)));
  // A group is at least as large as its dictionaries, so that with many names values take at least as much of
  // the file.
  const std::uint64_t bytes = std::max(kGroupBytes, dictionary_bytes);
  const std::uint64_t rows = std::max(least, std::min(bytes / weight_of_row(table), most));
  const bool chunked = dataset.layout.cls == format::LayoutClass::Chunked;
  const std::uint64_t unit = chunked && !dataset.layout.chunk_dims.empty() ? dataset.layout.chunk_dims[0] : 1;
  const auto whole = checked_mul(divide_up(rows, unit), unit);
  const bool fits =
      whole && *whole <= most && *whole <= kMaxGroupBytes / std::max<std::uint64_t>(1, table.row_bytes);
  return unit <= 4 * rows && fits ? *whole : rows;
}

}  // namespace

Result<ParquetLayout> ParquetLayout::of(const object::DatasetDescription& dataset, const Table& table,
                                        RequestBudget& budget, std::uint64_t most_rows) {
  if (table.columns.size() > kMaxColumns) return fail(no_form("too many columns"));
  ParquetLayout layout;
  EnumNames names;
  Dictionaries dictionaries;
  layout.boxes_ = dataset.boxes;
  const std::size_t axes = dataset.boxes ? dataset.boxes->dims().size() : 0;
  for (const Column& column : table.columns) {
    const bool is_axis = layout.columns_.size() < axes;
    H5_TRY(add_column(column, is_axis ? dataset.boxes.get() : nullptr, names, dictionaries, layout.columns_));
    if (layout.columns_.size() > kMaxColumns) return fail(no_form("too many columns"));
  }
  const std::uint64_t schema = layout.most_schema_bytes();
  if (schema > kMaxSchemaBytes) return fail(no_form("names of columns or values too long"));
  H5_TRY(budget.spend(kStepsPerFooterByte * schema));
  std::uint64_t bytes_of_row = 0;
  for (ParquetColumn& column : layout.columns_) {
    bytes_of_row += column.value_bytes;
    if (column.is_measured()) column.string_index = layout.string_columns_++;
  }
  layout.rows_ = table.rows;
  // Offsets, including page headers, are below 2^63.
  if (checked_mul(table.rows, std::max<std::uint64_t>(layout.columns_.size(), bytes_of_row))
          .value_or(format::kUnlimited) > kMaxValueBytes)
    return fail(no_form("too many rows"));
  layout.dictionary_bytes_ = dictionaries.bytes();
  H5_TRY(budget.spend(kStepsPerFooterByte * layout.dictionary_bytes_));
  layout.rows_per_group_ = dataset.boxes ? dataset.boxes->most_rows()
                                         : rows_of_group(dataset, table, layout.most_bytes_of_group(),
                                                         layout.dictionary_bytes_, most_rows);
  if (dataset.boxes) H5_TRY(layout.set_boxes(budget));
  const auto group = checked_mul(layout.rows_per_group_, std::max(bytes_of_row, table.row_bytes));
  if (!group || *group > kMaxGroupBytes) return fail(no_form("too many rows"));
  if (layout.string_columns_ == 0) layout.set_offsets();
  return layout;
}

Status ParquetLayout::set_boxes(RequestBudget& budget) {
  if (groups() > kMaxGroupsBytes / most_bytes_of_group()) return fail(no_form("too many rows"));
  H5_TRY(budget.spend(kStepsPerFooterByte * groups() * most_bytes_of_group()));
  first_rows_.reserve(static_cast<std::size_t>(groups()) + 1);
  for (std::uint64_t group = 0; group < groups(); ++group)
    first_rows_.push_back(boxes_->box(group).first_row);
  first_rows_.push_back(rows_);
  return {};
}

std::uint64_t ParquetLayout::group_of_row(std::uint64_t row) const {
  if (!boxes_) return row / rows_per_group_;
  return static_cast<std::uint64_t>(std::ranges::upper_bound(first_rows_, row) - first_rows_.begin()) - 1;
}

void ParquetLayout::set_strings(ParquetStrings strings) {
  strings_ = std::move(strings);
  for (ParquetColumn& column : columns_)
    if (column.conversion == Conversion::Text && strings_.utf8[column.string_index]) column.converted = kUtf8;
  set_offsets();
}

void ParquetLayout::set_offsets() {
  if (groups() == 0) return;
  if (string_columns_ == 0 && !boxes_) {
    whole_group_ = group_bytes(0);
    last_group_ = group_bytes(groups() - 1);
    return;
  }
  offsets_ = {kParquetMagic.size()};
  for (std::uint64_t group = 0; group < groups(); ++group)
    offsets_.push_back(offsets_.back() + group_bytes(group));
}

std::uint64_t ParquetLayout::page_bytes(const ParquetColumn& column, std::uint64_t group) const {
  switch (column.conversion) {
    case Conversion::Text:
    case Conversion::List:
      return strings_.page_bytes[static_cast<std::size_t>(group) * string_columns_ + column.string_index];
    case Conversion::Bits:
      return level_bytes(column, rows_of(group)) + divide_up(rows_of(group), 8);
    case Conversion::Index:
      return index_page_bytes(column, rows_of(group));
    default:
      return level_bytes(column, rows_of(group)) + rows_of(group) * column.value_bytes;
  }
}

std::uint64_t ParquetLayout::page_values(const ParquetColumn& column, std::uint64_t group) const {
  if (!column.list) return rows_of(group);
  return strings_.values[static_cast<std::size_t>(group) * string_columns_ + column.string_index];
}

std::uint64_t ParquetLayout::group_bytes(std::uint64_t group) const {
  std::uint64_t bytes = 0;
  for (const ParquetColumn& column : columns_) bytes += column_bytes(column, group);
  return bytes;
}

std::uint64_t ParquetLayout::column_bytes(const ParquetColumn& column, std::uint64_t group) const {
  return dictionary_bytes(column, group) + page_header(column, group).size() + page_bytes(column, group);
}

std::uint64_t ParquetLayout::group_offset(std::uint64_t group) const {
  if (!offsets_.empty()) return offsets_[static_cast<std::size_t>(std::min(group, groups()))];
  if (group < groups()) return kParquetMagic.size() + group * whole_group_;
  return kParquetMagic.size() + (groups() == 0 ? 0 : (groups() - 1) * whole_group_ + last_group_);
}

std::uint64_t ParquetLayout::group_at(std::uint64_t offset) const {
  if (offsets_.empty()) return (offset - kParquetMagic.size()) / whole_group_;
  return static_cast<std::uint64_t>(std::ranges::upper_bound(offsets_, offset) - offsets_.begin()) - 1;
}

}  // namespace h5mount::view
