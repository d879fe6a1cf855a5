#include "h5mount/dataset/dataset_reader.h"

#include <algorithm>

#include "chunked_reader.h"
#include "growth.h"
#include "simple_readers.h"
#include "sparse_reader.h"
#include "virtual_reader.h"

namespace h5mount::dataset {

Result<std::shared_ptr<const DatasetReader>> DatasetReader::open(const ReadEnvironment& environment,
                                                                 object::OpenedFilePtr file,
                                                                 object::DatasetDescription d) {
  if (d.layout.cls != format::LayoutClass::Virtual && d.image_bytes == 0)
    return open_unallocated_reader(std::move(d));
  switch (d.layout.cls) {
    case format::LayoutClass::Compact:
      return open_compact_reader(std::move(d));
    case format::LayoutClass::Contiguous:
      return d.external.empty() ? open_contiguous_reader(file, std::move(d))
                                : open_external_reader(environment, file, std::move(d));
    case format::LayoutClass::Chunked:
      return ChunkedReader::open(environment, std::move(file), std::move(d));
    case format::LayoutClass::Virtual:
      return VirtualReader::open(environment, std::move(file), std::move(d));
    case format::LayoutClass::Structured:
      return SparseReader::open(environment, std::move(file), std::move(d));
  }
  return fail(Error(ErrorCode::UnsupportedFeature, "DataLayout", "class", d.address));
}

Status DatasetReader::read_chunk(std::uint64_t, std::uint64_t, std::uint64_t, Pieces&) const {
  return fail({ErrorCode::UnsupportedFeature, "a dataset without chunks"});
}

Result<std::shared_ptr<const DatasetReader>> DatasetReader::open_next(
    const ReadEnvironment& environment, object::OpenedFilePtr file, object::DatasetDescription d,
    const std::shared_ptr<const DatasetReader>& previous) {
  if (previous == nullptr) return open(environment, std::move(file), std::move(d));
  return previous->open_next_state(environment, std::move(file), std::move(d));
}

Result<std::shared_ptr<const DatasetReader>> DatasetReader::open_next_state(
    const ReadEnvironment& environment, object::OpenedFilePtr file, object::DatasetDescription next) const {
  const bool stays =
      size() == 0 || (grew_at_end(description_, next) && next.layout.cls == format::LayoutClass::Contiguous &&
                      next.layout.address == description_.layout.address);
  H5_ASSIGN(auto reader, open(environment, std::move(file), std::move(next)));
  reader->outdated_ = !stays;
  return reader;
}

}  // namespace h5mount::dataset
