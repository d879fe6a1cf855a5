// The datatype message (specification IV.A.2.d), decoded to a tree. Versions 1 to 5.
//
// A Datatype is immutable once decoded and shared by pointer. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/format/cursor.h"

namespace h5mount::format {

enum class DatatypeClass : std::uint8_t {
  Integer = 0,
  Float = 1,
  Time = 2,
  String = 3,
  Bitfield = 4,
  Opaque = 5,
  Compound = 6,
  Reference = 7,
  Enum = 8,
  VariableLength = 9,
  Array = 10,
  Complex = 11,
};

enum class ByteOrder : std::uint8_t { Little, Big, Vax };
enum class StringPadding : std::uint8_t { NullTerminate = 0, NullPad = 1, SpacePad = 2 };
enum class CharacterSet : std::uint8_t { Ascii = 0, Utf8 = 1 };
enum class MantissaNormalization : std::uint8_t { None = 0, MsbSet = 1, Implied = 2 };
enum class ReferenceKind : std::uint8_t { Object1 = 0, Region1 = 1, Object2 = 2, Region2 = 3, Attribute = 4 };

struct Datatype;
using DatatypePtr = std::shared_ptr<const Datatype>;

struct CompoundMember {
  std::string name;
  std::uint32_t offset = 0;  // bytes from the element's start
  DatatypePtr type;
};

struct EnumMember {
  std::string name;
  std::vector<std::byte> value;  // base->size bytes, stored order
};

struct Datatype {
  DatatypeClass cls = DatatypeClass::Integer;
  std::uint8_t version = 1;
  std::uint32_t size = 0;  // bytes per element in the file; never 0

  // Integer, Float, Time, Bitfield
  ByteOrder order = ByteOrder::Little;
  std::uint16_t bit_offset = 0;
  std::uint16_t bit_precision = 0;
  bool low_pad = false;   // padding bits below are ones
  bool high_pad = false;  // padding bits above are ones
  bool is_signed = false;

  // Float
  MantissaNormalization normalization = MantissaNormalization::None;
  std::uint8_t sign_location = 0;
  std::uint8_t exponent_location = 0;
  std::uint8_t exponent_size = 0;
  std::uint8_t mantissa_location = 0;
  std::uint8_t mantissa_size = 0;
  std::uint32_t exponent_bias = 0;

  // String, and VariableLength of strings
  StringPadding padding = StringPadding::NullTerminate;
  CharacterSet charset = CharacterSet::Ascii;

  std::string tag;                                   // Opaque
  ReferenceKind reference = ReferenceKind::Object1;  // Reference
  bool variable_string = false;                      // VariableLength: strings rather than sequences
  std::vector<CompoundMember> members;               // Compound, declaration order
  std::vector<EnumMember> enum_members;              // Enum, declaration order
  std::vector<std::uint32_t> dims;                   // Array
  DatatypePtr base;                                  // Enum, VariableLength, Array, Complex

  // In the outermost type only: fields of it or of its parts that say something that the format does not know
  // or that other fields contradict, and without which elements can be read.
  std::vector<Error> disagreements;

  // True if any part is variable-length data (stored in the global heap).
  bool has_variable_part = false;
  // True if any part is a reference of any kind.
  bool has_reference = false;
};

// Decodes one datatype message body and leaves the cursor after it. Checks every invariant that users rely
// on: sizes not zero, members within their compound, the product of array dimensions fits 32 bits, bit fields
// within the size, nesting within limits::kMaxDatatypeDepth. An enumeration over anything but an integer of
// its size is given as opaque bytes.
Result<DatatypePtr> decode_datatype(Cursor& cursor);

}  // namespace h5mount::format
