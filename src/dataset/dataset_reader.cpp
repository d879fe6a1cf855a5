#include "h5mount/dataset/dataset_reader.h"

#include <algorithm>

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

Result<std::shared_ptr<const DatasetReader>> DatasetReader::open_next(
    const ReadEnvironment& environment, OpenedFilePtr file, DatasetDescription d,
    const std::shared_ptr<const DatasetReader>& previous) {
  if (d.layout.cls == LayoutClass::Virtual)
    return VirtualReader::open(environment, std::move(file), std::move(d),
                               dynamic_cast<const VirtualReader*>(previous.get()));
  if (previous == nullptr || previous->size() == 0) return open(environment, std::move(file), std::move(d));
  const DatasetDescription& before = previous->description();
  const bool grew = grew_at_end(before, d);
  const auto* chunked = dynamic_cast<const ChunkedReader*>(previous.get());
  if (grew && chunked != nullptr) return ChunkedReader::open(environment, std::move(file), std::move(d), chunked);
  const bool stays = grew && d.layout.cls == LayoutClass::Contiguous && d.layout.address == before.layout.address;
  H5_ASSIGN(auto reader, open(environment, std::move(file), std::move(d)));
  reader->outdated_ = !stays;
  return reader;
}

}  // namespace h5mount
