#include "numbers.h"

#include <algorithm>

#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/view/derived.h"
#include "type_json.h"

namespace h5mount::serve {
namespace {

using format::DatatypeClass, format::DatatypePtr;

// The type of the numbers that an element consists of.
DatatypePtr number_of(DatatypePtr type) {
  while (type->cls == DatatypeClass::Array || type->cls == DatatypeClass::Enum) type = type->base;
  if (text::complex_part(*type) == nullptr) return type;
  return type->cls == DatatypeClass::Complex ? type->base : type->members[0].type;
}

// The type with the class of integers: numbers of all classes but floats are converted as integers.
DatatypePtr as_integer(const DatatypePtr& type) {
  if (type->cls == DatatypeClass::Integer) return type;
  auto out = std::make_shared<format::Datatype>(*type);
  out->cls = DatatypeClass::Integer;
  return out;
}

format::ByteOrder shown_order(const format::Datatype& type, NumberForm form) {
  const bool big = type.order == format::ByteOrder::Big && form == NumberForm::Origin;
  return big ? format::ByteOrder::Big : format::ByteOrder::Little;
}

// The format that NumPy has for such a number; null if the number is not converted.
DatatypePtr shown_number(const format::Datatype& type, bool in_pair, NumberForm form) {
  const format::ByteOrder order = shown_order(type, form);
  if (type.cls != DatatypeClass::Float) {
    const auto size = numpy_integer_size(type);
    return size ? dataset::integer_type(*size, type.is_signed, order) : nullptr;
  }
  std::uint32_t size = numpy_float_size(type);
  if (in_pair || form == NumberForm::Safe) size = std::max(size, 4U);
  if (form == NumberForm::Safe) size = std::min(size, 8U);
  return size <= 8 ? dataset::float_type(size, order) : nullptr;
}

// The type of an element if its numbers are replaced by those of type `number`.
DatatypePtr replaced_numbers(const format::Datatype& type, const DatatypePtr& number) {
  if (type.cls == DatatypeClass::Enum) return number;
  if (type.cls != DatatypeClass::Array && text::complex_part(type) == nullptr) return number;
  auto out = std::make_shared<format::Datatype>(type);
  if (type.cls == DatatypeClass::Array) {
    out->base = replaced_numbers(*type.base, number);
    out->size = out->base->size;
    for (const std::uint32_t dim : type.dims) out->size *= dim;
    return out;
  }
  out->size = 2 * number->size;
  if (out->base) out->base = number;
  for (std::size_t i = 0; i < out->members.size(); ++i) {
    out->members[i].type = number;
    out->members[i].offset = static_cast<std::uint32_t>(i) * number->size;
  }
  return out;
}

// Clients also write selections as `1, 2:5`.
std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

}  // namespace

Result<view::ViewInput> selected_data(const ApiRequest& request, const Entity& dataset) {
  H5_ASSIGN(view::ViewInput source, request.snapshot->recent->elements_of(*dataset.object, request.budget()));
  source.values.form = text::JsonForm::NumPy;
  const auto selection = request.query.get("selection");
  if (!selection) return source;
  const view::DerivationPtr part = view::derive_selection(without_spaces(*selection));
  auto opened = part->open(source.reader);
  if (!opened && opened.error().code() == ErrorCode::NotFound)
    return fail(refused(*selection + " does not select elements of " + dataset.path));
  if (!opened) return fail(opened.error());
  source.reader = *std::move(opened);
  return source;
}

bool is_numeric(const format::Datatype& type) {
  return type.cls == DatatypeClass::Array ? is_numeric(*type.base) : numeric_dtype(type).has_value();
}

Result<view::DatasetReaderPtr> open_numbers(view::DatasetReaderPtr reader, NumberForm form) {
  const DatatypePtr type = reader->description().type;
  if (!is_numeric(*type)) return fail(refused("not numbers"));
  const DatatypePtr stored = number_of(type);
  const bool in_pair = text::complex_part(*flat_type(type, {}).type) != nullptr;
  const DatatypePtr shown = shown_number(*stored, in_pair, form);
  if (!shown) return reader;
  const DatatypePtr from = stored->cls == DatatypeClass::Float ? stored : as_integer(stored);
  return dataset::open_converted(std::move(reader), {replaced_numbers(*type, shown), from, shown});
}

}  // namespace h5mount::serve
