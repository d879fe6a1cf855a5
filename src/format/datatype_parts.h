// Shared by the sources of the datatype message.
#pragma once

#include "h5mount/format/datatype.h"

namespace h5mount::format::datatype_parts {

// State of one decoding, which bounds nesting and the number of types.
struct Decoding {
  Cursor& cursor;
  unsigned depth = 0;
  unsigned nodes = 0;
  std::vector<Error> disagreements = {};

  void disagrees(const Field& field, std::string why) {
    constexpr std::size_t kMost = 16;
    if (disagreements.size() < kMost)
      disagreements.push_back(Error(ErrorCode::InvalidValue, cursor.structure(), field.name, field.offset)
                                  .with_found(field.value)
                                  .with_detail(std::move(why)));
  }
};

// Fields of a type's first eight bytes that checks of its properties refer to.
struct TypeFields {
  Field bits;  // the class bit field
  Field size;

  std::uint32_t bit_values() const { return static_cast<std::uint32_t>(bits.value); }
};

// Returns a nested type; null if the cursor has failed.
DatatypePtr decode_nested(Decoding& decoding);

// Padding and character set of a string: the low eight bits of `bits`, which come from `bit_field`.
void decode_string_bits(Decoding& decoding, const Field& bit_field, std::uint32_t bits, Datatype& type);

// The properties of the composite classes.
void decode_compound(Decoding& decoding, const TypeFields& fields, Datatype& type);
void decode_enum(Decoding& decoding, const TypeFields& fields, Datatype& type);
void decode_variable_length(Decoding& decoding, const TypeFields& fields, Datatype& type);
void decode_array(Decoding& decoding, const TypeFields& fields, Datatype& type);
void decode_complex(Decoding& decoding, const TypeFields& fields, Datatype& type);

}  // namespace h5mount::format::datatype_parts
