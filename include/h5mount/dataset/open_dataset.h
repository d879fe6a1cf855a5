// How the reader of a dataset is made: the kind that its layout calls for, or one that continues an earlier
// one.
#pragma once

#include <memory>

#include "h5mount/base/counters.h"
#include "h5mount/cache/block_cache.h"
#include "h5mount/cache/worker_pool.h"
#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

struct VirtualAncestry;  // private to the module

struct ReadEnvironment {
  std::shared_ptr<cache::BlockCache> cache;
  std::shared_ptr<cache::WorkerPool> workers;
  std::shared_ptr<object::FileSet> files;
  std::shared_ptr<const VirtualAncestry> within = nullptr;  // of sources: the virtual datasets around them
  std::shared_ptr<Counters> counters = std::make_shared<Counters>();
};

// Reads only what describes the storage. An unknown layout or filter (UnsupportedFeature) is an error of
// `read`, not of this, so that the object is still listed.
Result<DatasetReaderPtr> open_dataset(const ReadEnvironment& environment, object::OpenedFilePtr file,
                                      object::DatasetDescription description);

// The reader of a later snapshot of a followed file, `previous` being that of an earlier one, or null: it
// keeps the finished blocks that the earlier one has decoded. The description must come from an object
// header that was read before the call; what the header refers to is read during the call, as a writer
// flushes it before the header. May be called again with the same `previous`, also after a failure.
Result<NextReader> open_next_dataset(const ReadEnvironment& environment, object::OpenedFilePtr file,
                                     object::DatasetDescription description, const DatasetReaderPtr& previous,
                                     RequestBudget& budget);

}  // namespace h5mount::dataset
