// The fuzz target of values as text: a datatype message (its length in the first two bytes), then elements of
// it. There is no file, so variable-length parts that are not empty are errors; everything else must convert
// to text.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "h5mount/text/value_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  using namespace h5mount;
  using namespace h5mount::format;
  using namespace h5mount::text;
  if (length < 2) return 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const std::size_t type_bytes = load_le<std::uint16_t>(bytes);
  if (type_bytes > length - 2) return 0;
  const std::vector<std::byte> message(bytes + 2, bytes + 2 + type_bytes);
  Cursor cursor(message, 0, "DatatypeMessage", {});
  const auto type = decode_datatype(cursor);
  if (!type) return 0;
  (void)datatype_text(**type);
  const std::vector<std::byte> data_bytes(bytes + 2 + type_bytes, bytes + length);
  Dataspace space;
  const std::uint64_t elements = data_bytes.size() / (*type)->size;
  if (elements != 1) {
    space.kind = DataspaceKind::Simple;
    space.dims = {elements};
  }
  (void)value_text(**type, space, data_bytes, ValueContext{{}, Unbounded()});
  return 0;
}
