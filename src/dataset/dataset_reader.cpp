#include "h5mount/dataset/dataset_reader.h"

#include "chunked_reader.h"
#include "simple_readers.h"
#include "sparse_reader.h"
#include "virtual_reader.h"

namespace h5mount {

Result<std::shared_ptr<const DatasetReader>> DatasetReader::open(const ReadEnvironment& environment,
                                                                 OpenedFilePtr file, DatasetDescription d) {
  if (d.layout.cls != LayoutClass::Virtual && d.image_bytes == 0) return open_unallocated_reader(std::move(d));
  switch (d.layout.cls) {
    case LayoutClass::Compact: return open_compact_reader(std::move(d));
    case LayoutClass::Contiguous:
      return d.external.empty() ? open_contiguous_reader(file, std::move(d))
                                : open_external_reader(environment, file, std::move(d));
    case LayoutClass::Chunked: return ChunkedReader::open(environment, std::move(file), std::move(d));
    case LayoutClass::Virtual: return VirtualReader::open(environment, std::move(file), std::move(d));
    case LayoutClass::Structured: return SparseReader::open(environment, std::move(file), std::move(d));
  }
  return fail(Error(ErrorCode::UnsupportedFeature, "DataLayout", "class", d.address));
}

}  // namespace h5mount
