// The entries of the table of views, each defined beside its class, and the view of slices and fields without
// a suffix. Threads: any.
#pragma once

#include "h5mount/view/view.h"

namespace h5mount::view {

extern const View kNpyView, kCsvView, kTsvView, kNdjsonView, kParquetView, kTiffView, kTextView, kRawView;

// A file that is the image, byte for byte.
ComputedFilePtr show_as_stored(DatasetReaderPtr reader);

}  // namespace h5mount::view
