// Readers of storage that is one run of bytes or a list of them (compact, contiguous, external), and of
// absent storage.
#pragma once

#include "core/fill_pattern.h"
#include "h5mount/dataset/open_dataset.h"

namespace h5mount::dataset {

using ReaderResult = Result<std::shared_ptr<const DatasetReader>>;

ReaderResult open_compact_reader(object::DatasetDescription description);
ReaderResult open_contiguous_reader(const object::OpenedFilePtr& file,
                                    object::DatasetDescription description);
ReaderResult open_external_reader(const ReadEnvironment& environment, const object::OpenedFilePtr& file,
                                  object::DatasetDescription description);
// Every byte is the fill value, as the storage was never allocated or the image is empty.
ReaderResult open_unallocated_reader(object::DatasetDescription description);
// Reads fail with `problem`, but the object can still be listed.
ReaderResult open_failing_reader(object::DatasetDescription description, Error problem);

}  // namespace h5mount::dataset
