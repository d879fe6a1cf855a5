// One value on its way to text: what the sources of append_json share.
#pragma once

#include <optional>

#include "h5mount/format/selection.h"
#include "h5mount/metadata/global_heap.h"
#include "h5mount/view/value_text.h"

namespace h5mount {

// Variable-length parts may share heap objects, so a small file can ask for any amount of text: `most` bounds it.
struct ValueWriter {
  const ValueContext& context;
  std::string& out;
  std::size_t most;  // bytes that `out` may grow to

  FileSizes sizes() const { return context.file ? context.file->sizes() : FileSizes{}; }
};

Status write_element(ValueWriter& writer, const Datatype& type, ByteSpan element);
Status write_reference(ValueWriter& writer, const Datatype& type, ByteSpan element);

// A place in the global heap: collection address and index; nothing where it is empty.
Result<std::optional<GlobalHeapObject>> load_heap_place(const ValueWriter& writer, Cursor& cursor);

}  // namespace h5mount
