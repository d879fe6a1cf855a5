#include "h5mount/dataset/open_dataset.h"

#include "chunked/chunked_reader.h"
#include "core/growth.h"
#include "simple_readers.h"
#include "sparse/sparse_reader.h"
#include "virtual/virtual_reader.h"

#include "h5mount/base/structures.h"

namespace h5mount::dataset {
namespace {

Result<DatasetReaderPtr> open_first(const ReadEnvironment& environment, object::OpenedFilePtr file,
                                    object::DatasetDescription d, RequestBudget& budget) {
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
      return VirtualReader::open(environment, std::move(file), std::move(d), nullptr, budget);
    case format::LayoutClass::Structured:
      return SparseReader::open(environment, std::move(file), std::move(d));
  }
  return fail(Error(ErrorCode::UnsupportedFeature, structures::kDataLayout, "class", d.address));
}

// Whether everything that the reader of the earlier description returned is still valid.
bool stays(const object::DatasetDescription& earlier, const object::DatasetDescription& next) {
  return earlier.image_bytes == 0 ||
         (grew_at_end(earlier, next) && next.layout.cls == format::LayoutClass::Contiguous &&
          next.layout.address == earlier.layout.address);
}

}  // namespace

Result<DatasetReaderPtr> open_dataset(const ReadEnvironment& environment, object::OpenedFilePtr file,
                                      object::DatasetDescription description) {
  RequestBudget budget;
  if (environment.made) {
    H5_ASSIGN(const NextReader made, environment.made->open(environment, file, description, nullptr, budget));
    if (made.reader != nullptr) return made.reader;
  }
  return open_first(environment, std::move(file), std::move(description), budget);
}

Result<NextReader> open_next_dataset(const ReadEnvironment& environment, object::OpenedFilePtr file,
                                     object::DatasetDescription description, const DatasetReaderPtr& previous,
                                     RequestBudget& budget) {
  NextReader out;
  if (environment.made) {
    H5_ASSIGN(out, environment.made->open(environment, file, description, previous, budget));
    if (out.reader != nullptr) return out;
  }
  if (previous != nullptr) {
    H5_ASSIGN(out, previous->continued(environment, file, description, budget));
    if (out.reader != nullptr) return out;
    if (!stays(previous->description(), description)) out.stale = {kWholeImage};
  }
  H5_ASSIGN(out.reader, open_first(environment, std::move(file), std::move(description), budget));
  return out;
}

}  // namespace h5mount::dataset
