#include "categories.h"

#include <algorithm>

#include "../objects/damaged_lists.h"
#include "h5mount/base/limits.h"
#include "h5mount/text/strict_json.h"
#include "h5mount/text/value_text.h"

namespace h5mount::tree {

namespace {

using format::DatatypeClass;

constexpr std::uint64_t kBytesAtOnce = 1U << 20;  // of names, as stored

// Of one of the usual formats.
bool is_number(const format::Datatype& type) {
  return (type.cls == DatatypeClass::Integer || type.cls == DatatypeClass::Float) &&
         text::datatype_text(type).size() == 3 && type.size <= 8;
}

bool are_codes(const object::DatasetDescription& dataset) {
  return dataset.space.rank() == 1 && dataset.type->cls == DatatypeClass::Integer &&
         text::datatype_text(*dataset.type).size() == 3;  // 1, 2, 4 or 8 whole bytes
}

bool names_too_many(const object::DatasetDescription& dataset) {
  return dataset.space.dims[0] > kMaxNames || dataset.image_bytes > kMaxNameBytes;
}

bool are_names(const object::DatasetDescription& dataset) {
  const DatatypeClass cls = dataset.type->cls;
  return dataset.space.rank() == 1 && dataset.space.dims[0] <= kMaxNames &&
         dataset.element_size <= kBytesAtOnce &&
         (text::is_string(*dataset.type) || cls == DatatypeClass::Integer || cls == DatatypeClass::Float ||
          cls == DatatypeClass::Enum);
}

// The address that the attribute `categories` refers to; nullopt if there is no such attribute.
std::optional<std::uint64_t> referred_names(const OpenedObject& codes) {
  const auto attribute = object::find_attribute(*codes.snapshot, codes.object, "categories");
  if (!attribute || attribute->damage || attribute->type->cls != DatatypeClass::Reference ||
      attribute->type->reference != format::ReferenceKind::Object1 ||
      attribute->space.element_count() != std::uint64_t{1})
    return std::nullopt;
  format::Cursor cursor(attribute->data, 0, "Reference", codes.snapshot->sizes());
  const std::uint64_t address = cursor.address("object_address");
  if (!cursor.finish() || address == 0 || address == format::kUndefinedAddress) return std::nullopt;
  return address;
}

std::optional<std::uint64_t> child_of(const object::Group& group, std::string_view name) {
  const auto link = group.find(name);
  if (!link || !link->is(format::LinkType::Hard)) return std::nullopt;
  return link->address;
}

// Appends the text of an element: for strings their bytes, for enumerations the name of the value, for
// numbers JSON.
Status append_name(const format::Datatype& type, ByteSpan element, const text::ValueContext& context,
                   std::string& out) {
  if (text::is_string(type)) return text::append_string(type, element, context, out);
  if (type.cls != DatatypeClass::Enum) return text::append_json(type, element, context, out);
  const auto named = std::ranges::find_if(type.enum_members, [&](const format::EnumMember& member) {
    return std::ranges::equal(member.value, element);
  });
  if (named == type.enum_members.end()) return text::append_json(*type.base, element, context, out);
  out += named->name;
  return {};
}

bool has_values(const object::DatasetDescription& dataset) {
  const DatatypeClass cls = dataset.type->cls;
  return dataset.space.rank() == 1 && (text::is_string(*dataset.type) || cls == DatatypeClass::Integer ||
                                       cls == DatatypeClass::Float || cls == DatatypeClass::Enum);
}

bool is_mask(const object::DatasetDescription& dataset) {
  const DatatypeClass cls = dataset.type->cls;
  return dataset.space.rank() == 1 && dataset.type->size == 1 &&
         (cls == DatatypeClass::Enum || cls == DatatypeClass::Integer || cls == DatatypeClass::Bitfield);
}

// The description of the dataset at an address; null if something else is there.
Result<DatasetDescriptionPtr> dataset_at(ServedFile& file, std::uint64_t address, RequestBudget& budget) {
  H5_ASSIGN(const OpenedObjectPtr object, file.object(address, budget));
  if (object->object.kind != object::ObjectKind::Dataset) return nullptr;
  return known_description_of(file, *object);
}

constexpr std::string_view kNullable = "nullable-";

// The categories themselves may be nullable data, of which none is missing.
Result<std::optional<std::uint64_t>> names_in(ServedFile& file, const object::Group& group,
                                              RequestBudget& budget) {
  const std::optional<std::uint64_t> names = child_of(group, "categories");
  if (!names) return names;
  H5_ASSIGN(const OpenedObjectPtr object, file.object(*names, budget));
  if (object->object.kind != object::ObjectKind::Group) return names;
  H5_ASSIGN(const std::optional<NullablePlace> nullable, find_nullable(file, *object, budget));
  return nullable ? std::optional(nullable->values) : std::nullopt;
}

}  // namespace

std::string encoding_of(const OpenedObject& object) {
  constexpr std::size_t kMostBytes = 64;
  const auto attribute = object::find_attribute(*object.snapshot, object.object, "encoding-type");
  if (!attribute || attribute->damage || !text::is_string(*attribute->type)) return {};
  return text::value_text(*attribute->type, attribute->space, attribute->data,
                          {{.file = object.snapshot}, Unbounded()}, kMostBytes)
      .value_or("");
}

Result<std::optional<NullablePlace>> find_nullable(ServedFile& file, const OpenedObject& object,
                                                   RequestBudget& budget) {
  if (object.object.kind != object::ObjectKind::Group || !encoding_of(object).starts_with(kNullable))
    return std::nullopt;
  H5_ASSIGN(const std::shared_ptr<const object::Group> group, opened_group(object));
  const std::optional<std::uint64_t> values = child_of(*group, "values"), mask = child_of(*group, "mask");
  if (!values || !mask) return std::nullopt;
  H5_ASSIGN(const DatasetDescriptionPtr of_values, dataset_at(file, *values, budget));
  H5_ASSIGN(const DatasetDescriptionPtr of_mask, dataset_at(file, *mask, budget));
  const bool fits = of_values && of_mask && has_values(*of_values) && is_mask(*of_mask) &&
                    of_values->space.dims == of_mask->space.dims;
  return fits ? std::optional(NullablePlace{*values, *mask}) : std::nullopt;
}

Result<std::optional<CategoricalPlace>> find_categorical(ServedFile& file, const OpenedObject& object,
                                                         RequestBudget& budget) {
  std::optional<std::uint64_t> codes, names;
  if (object.object.kind == object::ObjectKind::Dataset) {
    H5_ASSIGN(const DatasetDescriptionPtr described, known_description_of(file, object));
    if (!are_codes(*described)) return std::nullopt;
    codes = object.object.address;
    names = referred_names(object);
  } else if (object.object.kind == object::ObjectKind::Group && encoding_of(object) == "categorical") {
    H5_ASSIGN(const std::shared_ptr<const object::Group> group, opened_group(object));
    codes = child_of(*group, "codes");
    H5_ASSIGN(names, names_in(file, *group, budget));
  }
  if (!codes || !names) return std::nullopt;
  using Part = std::pair<std::uint64_t, bool (*)(const object::DatasetDescription&)>;
  for (const auto& [address, fits] : {Part{*codes, are_codes}, Part{*names, are_names}}) {
    H5_ASSIGN(const DatasetDescriptionPtr described, dataset_at(file, address, budget));
    if (!described || !fits(*described)) return std::nullopt;
  }
  return CategoricalPlace{*codes, *names};
}

namespace {

// The values as they are, of a type that fits a number.
Result<object::CategoriesPtr> read_values(ServedFile& file, const dataset::DatasetReader& names,
                                          RequestBudget& budget) {
  auto out = std::make_shared<object::Categories>();
  const auto bytes = static_cast<std::size_t>(names.size());
  H5_ASSIGN(auto charge, file.context().environment.cache->charge(bytes));
  H5_TRY(budget.spend(bytes));
  out->known = true;
  out->strings = false;
  out->type = names.description().type;
  out->values.resize(bytes);
  H5_TRY(names.read_into(0, out->values, budget));
  out->charge = std::make_shared<const cache::BlockCache::Charge>(std::move(charge));
  return out;
}

bool are_values(const object::DatasetDescription& dataset) {
  const format::Datatype& type = *dataset.type;
  if (dataset.space.rank() != 1 || names_too_many(dataset)) return false;
  return is_number(type) || (type.cls == DatatypeClass::Opaque && type.size == 8);
}

}  // namespace

object::CategoriesPtr lists_of(ServedFile& file, dataset::DatasetReaderPtr elements) {
  auto out = std::make_shared<object::Categories>();
  out->known = true;
  out->strings = false;
  const auto values = file.value_environment(file.file()->reread());
  const object::DatasetDescription& dataset = elements->description();
  if (dataset.space.rank() == 1 && is_number(*dataset.type)) {
    out->element = dataset.type;
    out->elements = dataset.space.dims[0];
    out->read = [elements](std::uint64_t first, std::uint64_t end, RequestBudget& budget,
                           std::vector<std::byte>& to) -> Status {
      const std::size_t bytes = elements->description().type->size, before = to.size();
      to.resize(before + static_cast<std::size_t>(end - first) * bytes);
      return elements->read_into(first * bytes, MutableByteSpan(to).subspan(before), budget);
    };
  }
  out->list = [elements, values](std::uint64_t first, std::uint64_t end, RequestBudget& budget,
                                 std::string& text) -> Status {
    const object::DatasetDescription& dataset = elements->description();
    const std::uint64_t bytes = dataset.element_size,
                        places = dataset.space.rank() == 0 ? 0 : dataset.space.dims[0];
    if (first > end || end > places || bytes == 0)
      return fail(Error(ErrorCode::OutOfRange, "a list that ends before it begins, or behind the data")
                      .with_found(end));
    const std::uint64_t row = places == 0 ? 0 : dataset.image_bytes / bytes / places;
    const auto append = [&](std::uint64_t from, std::uint64_t to) -> Status {
      const std::uint64_t at_once = std::max<std::uint64_t>(1, kBytesAtOnce / bytes);
      std::vector<std::byte> some;
      text += '[';
      for (std::uint64_t at = from; at < to; at += at_once) {
        some.resize(static_cast<std::size_t>(std::min(at_once, to - at) * bytes));
        H5_TRY(elements->read_into(at * bytes, some, budget));
        for (std::size_t i = 0; i < some.size(); i += bytes) {
          if (at > from || i > 0) text += ',';
          std::string json;
          H5_TRY(text::append_json(*dataset.type, ByteSpan(some).subspan(i, bytes), {values, budget}, json));
          text += text::strict_json(json, text::NotFinite::NanIsNull);
          if (text.size() > kMaxNameBytes) return fail({ErrorCode::TooLarge, "a list with too much text"});
        }
        H5_TRY(budget.spend(limits::kStepsPerTextByte * some.size()));
      }
      text += ']';
      return {};
    };
    if (dataset.space.rank() == 1) return append(first, end);
    text += '[';
    for (std::uint64_t i = first; i < end; ++i) {
      if (i > first) text += ',';
      H5_TRY(append(i * row, (i + 1) * row));
    }
    text += ']';
    return {};
  };
  return out;
}

Result<object::CategoriesPtr> read_categories(ServedFile& file, const dataset::DatasetReader& names,
                                              bool as_values, RequestBudget& budget) {
  const object::DatasetDescription& dataset = names.description();
  if (as_values && are_values(dataset)) return read_values(file, names, budget);
  if (!are_names(dataset))
    return fail({ErrorCode::UnsupportedFeature, "names of categories of another type"});
  const format::Datatype& type = *dataset.type;
  const auto& cache = *file.context().environment.cache;
  auto out = std::make_shared<object::Categories>();
  out->known = true;
  out->strings = text::is_string(type) || type.cls == DatatypeClass::Enum;
  const std::uint64_t count = dataset.space.dims[0];
  H5_ASSIGN(cache::BlockCache::Charge charge, cache.charge(static_cast<std::size_t>(count) * 8));
  out->ends.reserve(static_cast<std::size_t>(count));
  text::ValueContext context = file.value_context(file.file()->reread(), budget);
  context.max_bytes = kMaxNameBytes;
  std::vector<std::byte> some;
  const std::uint64_t at_once = std::max<std::uint64_t>(1, kBytesAtOnce / type.size);
  for (std::uint64_t first = 0; first < count; first += at_once) {
    some.resize(static_cast<std::size_t>(std::min(at_once, count - first) * type.size));
    H5_TRY(names.read_into(first * type.size, some, budget));
    const std::size_t before = out->text.size();
    for (std::size_t at = 0; at < some.size(); at += type.size) {
      const Status appended = append_name(type, ByteSpan(some).subspan(at, type.size), context, out->text);
      const bool too_long = !appended && appended.error().code() == ErrorCode::TooLarge;
      if (too_long || out->text.size() > kMaxNameBytes) return nullptr;
      H5_TRY(appended);
      out->ends.push_back(out->text.size());
    }
    H5_TRY(budget.spend(some.size() + limits::kStepsPerTextByte * (out->text.size() - before)));
    H5_TRY(charge.resize(out->text.capacity() + static_cast<std::size_t>(count) * 8));
  }
  out->charge = std::make_shared<const cache::BlockCache::Charge>(std::move(charge));
  return out;
}

}  // namespace h5mount::tree
