// The state of a value that is being written as text, shared by the sources of append_json.
#pragma once

#include <optional>

#include "h5mount/text/variable_part.h"

namespace h5mount::text {

// Steps charged for each part of an array, a compound or a variable-length value.
inline constexpr std::uint64_t kStepsPerPart = 32;

inline format::FileSizes file_sizes(const ValueContext& context) {
  return context.file ? context.file->sizes() : format::FileSizes{};
}

// Variable-length parts may share heap objects, so a small file can produce any amount of text: `most` bounds
// it, and the writer stops at the element that exceeds it.
struct ValueWriter {
  const ValueContext& context;
  std::string& out;
  std::size_t most;  // upper bound on the bytes of `out`, including those before this value
  ErrorCode beyond = ErrorCode::LimitExceeded;  // the error's code beyond that bound
  bool count_only = false;                      // the text is dropped after its length was counted
  std::size_t dropped = 0;
  std::size_t room = 0;  // what is reserved for the text once it is long; 0: nothing

  format::FileSizes sizes() const { return file_sizes(context); }
  std::size_t written() const { return dropped + out.size(); }

  // Fails if `bytes` more would exceed the bound.
  Status check_length(std::size_t bytes) const {
    if (written() <= most && bytes <= most - written()) return {};
    return fail(Error(beyond, "the value's text is too long"));
  }
  // Called between two elements, when no earlier text that was only counted is needed any more. A text that
  // grows by itself is held twice for a moment, so a long one gets all that it may take; no other does, as
  // most values are short.
  void between_elements() {
    constexpr std::size_t kHeld = 64U << 10, kLong = 1U << 20;
    if (out.size() < kHeld) return;
    if (count_only) {
      dropped += out.size();
      out.clear();
    } else if (room > out.capacity() && out.size() >= kLong) {
      out.reserve(room);
    }
  }
};

Status write_element(ValueWriter& writer, const format::Datatype& type, ByteSpan element);
Status write_reference(ValueWriter& writer, const format::Datatype& type, ByteSpan element);

// An object of the global heap, read by collection address and index; nullopt if the address is undefined.
Result<std::optional<metadata::GlobalHeapObject>> load_heap_place(const ValueContext& context,
                                                                  format::Cursor& cursor);

}  // namespace h5mount::text
