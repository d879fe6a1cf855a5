#include "pandas_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/limits.h"
#include "h5mount/base/text.h"
#include "h5mount/meaning/numbers.h"
#include "h5mount/object/resolve_path.h"

namespace h5mount::meaning {

namespace {

constexpr std::size_t kMostNotes = 8192;  // bytes of the extended attribute

// What PyTables stored of another object than a text or a number.
std::optional<Pickled> read_pickled(const format::Datatype& type, ByteSpan data) {
  if (type.cls != format::DatatypeClass::String || type.charset != format::CharacterSet::Ascii)
    return std::nullopt;
  const std::string_view text = as_text(data.first(type.size));
  const std::size_t end = text.find_last_not_of('\0');
  if (end == std::string_view::npos || text[end] != '.') return std::nullopt;
  return Pickled::read(data.first(end + 1));
}

}  // namespace

Status PandasGroup::read_texts() {
  H5_ASSIGN(const auto missing, attribute(subject_.object, "nan_rep"));
  if (missing && missing->root().kind == PickledValue::Kind::Text) texts_.missing = missing->root().text;
  H5_ASSIGN(const std::string encoding, text(subject_.object, "encoding"));
  for (const std::string_view name : {"latin-1", "latin1", "iso-8859-1", "iso8859-1", "latin_1"})
    texts_.latin1 = texts_.latin1 || equals_ignoring_case(encoding, name);
  const bool is_known = equals_ignoring_case(encoding, "utf-8") || equals_ignoring_case(encoding, "ascii");
  if (encoding.empty() || texts_.latin1 || is_known || encoding.size() > kMostNotes) return {};
  notes_ += R"(,"encoding":)" + text::json_string(encoding);
  return {};
}

Result<std::optional<Pickled>> PandasGroup::attribute(const object::Object& object,
                                                      std::string_view name) const {
  using Kind = PickledValue::Kind;
  const text::ValueContext& values = subject_.values;
  H5_ASSIGN(const auto found, readable_attribute(*values.file, object, name));
  if (!found) return std::nullopt;
  H5_TRY(values.budget.spend(found->data.size()));
  const format::Datatype& type = *found->type;
  if (type.cls == format::DatatypeClass::String) {
    if (auto pickled = read_pickled(type, found->data)) return pickled;
    return Pickled::of({Kind::Text, std::string(text::fixed_string(type, found->data)), {}});
  }
  const auto number = number_type(type);
  if (!number || !is_integer(number->kind)) return std::nullopt;
  std::string digits;
  H5_TRY(text::append_json(type, found->data.first(type.size), values, digits));
  return Pickled::of({Kind::Int, std::move(digits), {}});
}

Result<std::string> PandasGroup::text(const object::Object& object, std::string_view name) const {
  H5_ASSIGN(const auto found, attribute(object, name));
  return found && found->root().kind == PickledValue::Kind::Text ? found->root().text : std::string();
}

Result<std::optional<PandasGroup::Member>> PandasGroup::dataset(std::string_view path) const {
  constexpr std::uint64_t kStepsPerMember = 5000;
  H5_TRY(subject_.values.budget.spend(kStepsPerMember));
  const auto read = [&]() -> Result<Member> {
    const auto& file = subject_.values.file;
    H5_ASSIGN(const std::uint64_t address, object::resolve_path(file, subject_.object.address, path));
    H5_ASSIGN(object::Object object, object::open_object(*file, address));
    if (object.kind != object::ObjectKind::Dataset) return fail({ErrorCode::NotFound, "no dataset"});
    H5_ASSIGN(object::DatasetDescription dataset, object::describe_dataset(*file, object));
    return Member{std::move(object), std::move(dataset)};
  };
  auto out = read();
  if (out) return std::optional(*std::move(out));
  const ErrorCode why = out.error().code();
  const bool of_member = is_about_bytes(why) || why == ErrorCode::NotFound || why == ErrorCode::TooLarge ||
                         why == ErrorCode::UnsupportedFeature || why == ErrorCode::LimitExceeded;
  return of_member ? Result<std::optional<Member>>(std::nullopt) : fail(out.error());
}

Status PandasGroup::add(Column column) {
  constexpr std::uint64_t kStepsPerColumn = 1000;
  H5_TRY(subject_.values.budget.spend(kStepsPerColumn));
  if (columns_.size() < limits::kMaxTableColumns)
    columns_.push_back(std::move(column));
  else if (columns_.size() == limits::kMaxTableColumns)
    leave_out(std::move(column.record.name), std::string(kTooManyColumns));
  return {};
}

void PandasGroup::leave_out(std::string name, std::string why) {
  constexpr std::size_t kMost = 4096;
  if (left_out_.size() < kMost) left_out_.push_back({std::move(name), std::move(why)});
}

void PandasGroup::note_type(std::string_view column, std::string_view dtype, const PickledValue* zone) {
  const auto add = [&](std::string_view name, std::string& to) {
    if (to.size() > kMostNotes) return false;
    to += to.empty() ? "" : ",";
    text::append_json_string(name, to);
    return true;
  };
  if (dtype.starts_with("timedelta")) (void)add(column, durations_);
  if (zone == nullptr || zone->text.empty() || !add(column, zones_)) return;
  zones_ += ':';
  // The object that stands for UTC is of another module by version.
  const bool utc = zone->kind == PickledValue::Kind::Other && zone->text.ends_with("UTC");
  text::append_json_string(utc ? "UTC" : std::string_view(zone->text), zones_);
}

// As pandas.read_csv makes names unique.
std::string PandasGroup::unique(std::string name) {
  std::size_t& next = taken_.try_emplace(name, 0).first->second;
  std::string out = name;
  for (; next > 0 && taken_.contains(out); ++next) out = fmt::format("{}.{}", name, next);
  next = std::max<std::size_t>(next, 1);
  taken_.try_emplace(out, 1);
  return out;
}

TableColumn PandasGroup::joined(std::span<Column> columns) const {
  const Column& first = columns.front();
  TableColumn out{.name = first.record.name, .address = first.address};
  if (first.names) {
    out.names = first.names;
    out.names_derivation = first.names_derivation;
    out.derivation = derive_column(first.record, first.row_bytes, first.no_rows);
    return out;
  }
  std::vector<RecordColumn> records;
  for (Column& column : columns) records.push_back(std::move(column.record));
  out.derivation = derive_records(std::move(records), first.row_bytes, first.no_rows);
  return out;
}

TableDecoding PandasGroup::table(std::string_view format) {
  std::ranges::stable_sort(columns_, {}, &Column::order);
  bool numbered = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    numbered = numbered || !column.named;
    column.record.name = unique(column.named ? std::move(column.record.name) : fmt::format("{}", i));
  }
  TableDecoding out;
  out.text = fmt::format(R"({{"convention":"pandas","format":"{}","index":[)", format);
  for (Column& column : index_) {
    column.record.name = unique(std::move(column.record.name));
    levels_.push_back(column.record.name);
  }
  for (std::size_t i = 0; i < levels_.size() && out.text.size() < kMostNotes; ++i) {
    out.text += i > 0 ? "," : "";
    text::append_json_string(levels_[i], out.text);
  }
  out.text += ']';
  if (numbered) out.text += R"(,"names":"numbers")";
  if (!zones_.empty()) out.text += fmt::format(R"(,"time_zones":{{{}}})", zones_);
  if (!durations_.empty()) out.text += fmt::format(R"(,"nanoseconds":[{}])", durations_);
  out.text += notes_ + "}";
  std::vector<Column> all = std::move(index_);
  std::ranges::move(columns_, std::back_inserter(all));
  for (std::size_t begin = 0; begin < all.size();) {
    const Column& first = all[begin];
    std::size_t end = begin + 1;
    while (end < all.size() && !first.names && !all[end].names && all[end].address == first.address) ++end;
    out.columns.push_back(joined(std::span(all).subspan(begin, end - begin)));
    begin = end;
  }
  out.left_out = std::move(left_out_);
  return out;
}

}  // namespace h5mount::meaning
