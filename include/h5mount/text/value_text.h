// Datatypes and values as text, as defined in docs/promise.md 'Values as text'. Pure functions; threads: any.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "h5mount/base/request_budget.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/format/datatype.h"
#include "h5mount/format/filter_pipeline.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::text {

// user.hdf5.dtype: `<i4`, `{"a":"<i4","b":">f8"}`, `enum(<i1){"A":0}`…
std::string datatype_text(const format::Datatype& type);

// user.hdf5.filters
std::string filters_text(const format::FilterPipelineMessage& pipeline);

inline constexpr std::size_t kAnyLength = ~std::size_t{0};

// The form of the JSON. NumPy: what h5py's arrays become by tolist and a strict encoder: enumerations as
// numbers, compounds as arrays of their members in the order of their offsets, booleans, strings for opaque
// bytes, null for a number that is not finite, and for a reference only whether it is null.
enum class JsonForm : std::uint8_t { Mount, NumPy };

// The name that the file has for a filter, or else the library's own name for it; may be empty.
std::string_view filter_name(const format::FilterDescription& filter);

// The parts of their file that are needed to show values, whoever asks for them.
struct ValueEnvironment {
  metadata::FileMetadataPtr file = nullptr;  // global heap
  // The path of the object whose header is at `address`; nullopt if no path leads to it.
  std::function<std::optional<std::string>(std::uint64_t address)> path_of = nullptr;
  JsonForm form = JsonForm::Mount;
  bool proves_references = false;  // a reference that leads nowhere is an error, and not null
};

// The same for one request: resolves a value's references and variable-length parts.
struct ValueContext : ValueEnvironment {
  RequestBudget& budget;  // charged for the text and for what is read for it
  // The most text of one value; a longer one fails with TooLarge, detected without writing the rest.
  std::size_t max_bytes = kAnyLength;
};

// Whether h5py reads the type as boolean: an enumeration of FALSE, 0, and TRUE, 1.
bool is_boolean(const format::Datatype& type);
// The type of the real and the imaginary part of a complex type, or of a compound of two equal floats `r` and
// `i`, which h5py reads as complex. Null for all other types.
const format::Datatype* complex_part(const format::Datatype& type);

// The bits of a number of 1 to 8 bytes (the caller has checked), of either usual byte order.
std::uint64_t stored_bits(const format::Datatype& type, const std::byte* element);
// The number that is stored, where a double holds every number of its floating-point type.
std::optional<double> double_of(const format::Datatype& type, ByteSpan element);
// The same of any format, as far as the first 64 bits of its mantissa say. A zero is never negative in VAX
// order.
long double long_double_of(const format::Datatype& type, ByteSpan element);
// Whether it is the format of IEEE 754 with these sizes, which count bytes, bits and bits.
bool is_ieee(const format::Datatype& type, unsigned size, unsigned exponent, unsigned mantissa);
// Appends one element (type.size bytes at `element`) as JSON, without a newline; a reference that leads
// nowhere is null. Fails if the heap object of a variable-length part cannot be read.
Status append_json(const format::Datatype& type, ByteSpan element, const ValueContext& context,
                   std::string& out);

// The tag of strings of variable length that are code points of four bytes each; files have none. All
// functions give UTF-8.
inline constexpr std::string_view kCodePointsTag = "code points";

// Whether the type is a string of fixed or variable length.
bool is_string(const format::Datatype& type);

// Appends a string element's own bytes: fixed (padding and terminator removed) or variable-length.
Status append_string(const format::Datatype& type, ByteSpan element, const ValueContext& context,
                     std::string& out);

// The bytes of an element of a fixed-length string type, without padding and terminator.
std::string_view fixed_string(const format::Datatype& type, ByteSpan element);

// A whole value as an xattr shows it: a scalar string without quotes, any other value as JSON on one line,
// with arrays nested in row-major order and `null` for a null dataspace. Fails with TooLarge if the text
// exceeds `most_bytes`, which is detected without writing the rest.
Result<std::string> value_text(const format::Datatype& type, const format::Dataspace& space, ByteSpan data,
                               const ValueContext& context, std::size_t most_bytes = kAnyLength);

// The length of that text, computed without holding the text in memory.
Result<std::size_t> value_text_size(const format::Datatype& type, const format::Dataspace& space,
                                    ByteSpan data, const ValueContext& context);

// A JSON string literal; bytes that are not UTF-8 become \udcXX.
void append_json_string(std::string_view bytes, std::string& out);
std::string json_string(std::string_view bytes);
std::size_t json_string_length(std::string_view bytes);

}  // namespace h5mount::text
