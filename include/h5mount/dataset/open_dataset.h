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
class MadeDatasets;      // below

struct ReadEnvironment {
  std::shared_ptr<cache::BlockCache> cache;
  std::shared_ptr<cache::WorkerPool> workers;
  std::shared_ptr<object::FileSet> files;
  std::shared_ptr<const VirtualAncestry> within = nullptr;  // of a source: the virtual datasets around it
  std::shared_ptr<Counters> counters = std::make_shared<Counters>();
  std::shared_ptr<const MadeDatasets> made = nullptr;  // of a file that is made; null: it is none
};

// Datasets of a made file whose elements are elsewhere (module `join`). Threads: any.
class MadeDatasets {
 public:
  virtual ~MadeDatasets() = default;
  // The reader of the dataset with its header at `dataset.address`, and what is stale since `previous`, the
  // reader of an earlier state, or null. Its description may differ from `dataset` in how the elements lie in
  // chunks. Its `reader` is null if the elements are in the file itself.
  virtual Result<NextReader> open(const ReadEnvironment& environment, const object::OpenedFilePtr& file,
                                  const object::DatasetDescription& dataset, const DatasetReaderPtr& previous,
                                  RequestBudget& budget) const = 0;
  // Why the object is no dataset that can be read, although the file says so; nullopt: nothing is wrong.
  virtual std::optional<Error> problem(std::uint64_t address) const = 0;
};

// Reads only what describes the storage. An unknown layout or filter (UnsupportedFeature) is an error of
// `read`, not of this function, so that the object is still listed.
Result<DatasetReaderPtr> open_dataset(const ReadEnvironment& environment, object::OpenedFilePtr file,
                                      object::DatasetDescription description);

// Makes the reader for a later snapshot of a followed file; `previous` is the reader for an earlier snapshot,
// or null. The new reader keeps the finished blocks that `previous` has decoded. The description must come
// from an object header that was read before the call; the structures that the header refers to are read
// during the call, as a writer flushes them before the header. May be called again with the same `previous`,
// also after a failure.
Result<NextReader> open_next_dataset(const ReadEnvironment& environment, object::OpenedFilePtr file,
                                     object::DatasetDescription description, const DatasetReaderPtr& previous,
                                     RequestBudget& budget);

}  // namespace h5mount::dataset
