// The global heap collections that values refer to, found without reading these: for a read ahead. Values of
// variable length and references to regions lie there.
#pragma once

#include <functional>

#include "h5mount/format/datatype.h"

namespace h5mount::metadata {

// Calls `visit` with the address of the collection of each such part of the elements, in order, and often
// with the same one. Of very many parts some are left out.
void for_each_heap_reference(const format::Datatype& type, ByteSpan elements, format::FileSizes sizes,
                             const std::function<void(std::uint64_t address)>& visit);

}  // namespace h5mount::metadata
