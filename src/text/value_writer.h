// One value on its way to text: what the sources of append_json share.
#pragma once

#include <optional>

#include "h5mount/format/selection.h"
#include "h5mount/metadata/global_heap.h"
#include "h5mount/text/value_text.h"

namespace h5mount::text {

// Variable-length parts may share heap objects, so a small file can ask for any amount of text: `most` bounds
// it, and the writer stops at the element that goes beyond.
struct ValueWriter {
  const ValueContext& context;
  std::string& out;
  std::size_t most;  // bytes that may be written, those that were in `out` before included
  ErrorCode beyond = ErrorCode::LimitExceeded;  // what more is
  bool count_only = false;                      // text is dropped once it is counted
  std::size_t dropped = 0;

  format::FileSizes sizes() const { return context.file ? context.file->sizes() : format::FileSizes{}; }
  std::size_t written() const { return dropped + out.size(); }

  // Fails where `bytes` more would be too many.
  Status room_for(std::size_t bytes) const {
    if (written() <= most && bytes <= most - written()) return {};
    return fail(Error(beyond, "the value's text is too long"));
  }
  // Between two elements: nobody looks back at what was written.
  void drop_counted() {
    constexpr std::size_t kHeld = 64U << 10;
    if (!count_only || out.size() < kHeld) return;
    dropped += out.size();
    out.clear();
  }
};

Status write_element(ValueWriter& writer, const format::Datatype& type, ByteSpan element);
Status write_reference(ValueWriter& writer, const format::Datatype& type, ByteSpan element);

// A place in the global heap: collection address and index; nothing where it is empty.
Result<std::optional<metadata::GlobalHeapObject>> load_heap_place(const ValueWriter& writer,
                                                                  format::Cursor& cursor);

}  // namespace h5mount::text
