// The values of attributes as numbers of the formats that processors have. Pure; threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "h5mount/meaning/decoding.h"
#include "h5mount/text/number_kind.h"

namespace h5mount::meaning {

using text::bytes_of;
using text::is_integer;
using text::number_type;
using text::NumberKind;
using text::NumberType;

// The signed or unsigned kind of as many bytes.
NumberKind with_sign(NumberKind kind, bool is_signed);

// An attribute whose value can be read; nullopt: there is none, or it is large or damaged.
Result<std::optional<object::Attribute>> readable_attribute(const metadata::FileMetadata& file,
                                                            const object::Object& object,
                                                            std::string_view name);

// The numbers of an attribute as 64 bits each: those of the double, or of the integer with its sign.
struct AttributeNumbers {
  NumberKind kind = NumberKind::F64;
  std::vector<std::uint64_t> bits;
};
// nullopt: there is no such attribute, or it is no number. Other errors are those of reading it.
Result<std::optional<AttributeNumbers>> attribute_numbers(const Subject& subject, std::string_view name);
// A short text; empty: there is no such attribute, or it is none.
Result<std::string> attribute_text(const Subject& subject, std::string_view name);

double as_double(const AttributeNumbers& numbers, std::size_t at);

}  // namespace h5mount::meaning
