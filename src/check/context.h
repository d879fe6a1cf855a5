// Context: what the checks of one file share: private to the module. Threads: any.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <unordered_set>

#include "extents.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/request_budget.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/object/object.h"
#include "observer.h"
#include "places.h"
#include "tally.h"

namespace h5mount::check {

// Which structures were checked field by field. A hostile file can refer to one any number of times, and to
// overlapping ones.
class Structures {
 public:
  explicit Structures(std::uint64_t file_bytes)
      : bytes_left_(kBytesAnyway + kTimes * (file_bytes > kMaxFileBytes ? kMaxFileBytes : file_bytes)) {}

  // Returns false if the structure was checked before, or if more was read than a sound file has.
  bool enter(std::uint64_t address, std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    if (bytes > bytes_left_ || known_.size() >= limits::kMaxWalkedObjects) return false;
    if (!known_.insert(address).second) return false;
    bytes_left_ -= bytes;
    return true;
  }

 private:
  static constexpr std::uint64_t kTimes = 4, kBytesAnyway = 64U << 20;
  static constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 48;

  mutable Mutex mutex_;
  std::unordered_set<std::uint64_t> known_ H5_GUARDED_BY(mutex_);
  std::uint64_t bytes_left_ H5_GUARDED_BY(mutex_);
};

// Bounds the work for values that refer to the file's heaps, whose objects a hostile file can share among any
// number of values.
class ValueWork {
 public:
  ValueWork(std::uint64_t file_bytes, Tally& tally)
      : tally_(tally),
        left_(static_cast<std::int64_t>(kSteps + kStepsPerFileByte * std::min(file_bytes, kMaxFileBytes))) {}

  // Calls work(RequestBudget&), which gets a budget of its own, and charges the file with what it spent
  // beyond `free_steps`. Fails with BudgetExceeded, without a call, once everything is spent, and with
  // Interrupted if the check is to end.
  template <class Work>
  Status run(std::uint64_t free_steps, const Work& work) {
    if (left_.load(std::memory_order_relaxed) <= 0)
      return fail(Error(ErrorCode::BudgetExceeded,
                        "not checked: values refer to more than is followed in a "
                        "file of this length"));
    RequestBudget budget(RequestBudget::Bounds{kSteps + free_steps, RequestBudget::unbounded().time});
    budget.poll([](void* tally) { return !static_cast<Tally*>(tally)->go_on(); }, &tally_);
    Status done = work(budget);
    const std::uint64_t spent = budget.spent();
    left_.fetch_sub(static_cast<std::int64_t>(spent - std::min(spent, free_steps)),
                    std::memory_order_relaxed);
    if (!done && done.error().code() == ErrorCode::BudgetExceeded)
      return fail(
          Error(ErrorCode::BudgetExceeded, "not checked to its end: it refers to more than is followed"));
    return done;
  }

 private:
  // Sound values cost some 50 steps for each byte in the file's heaps.
  static constexpr std::uint64_t kSteps = limits::kRequestSteps;
  static constexpr std::uint64_t kStepsPerFileByte = 256;
  static constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 48;

  Tally& tally_;
  std::atomic<std::int64_t> left_;
};

struct Context {
  const dataset::ReadEnvironment* environment;  // null: no other file is opened and no chunk decoded
  object::OpenedFilePtr file;
  metadata::FileMetadataPtr metadata;
  Tally& tally;
  Places& places;
  Extents& extents;
  ValueWork& values;
  Structures& structures;
  FieldReport* fields = nullptr;  // may be null
  std::uint64_t stored_end = 0;   // the first address behind what the file has, and says that it has
  Observer* observer = nullptr;   // may be null

  cache::WorkerPool* workers() const { return environment != nullptr ? environment->workers.get() : nullptr; }

  void found(PlaceId place, const Error& error) const { tally.found(places.path(place), error); }
  void note(PlaceId place, const Error& error) const { tally.note(places.path(place), error); }
  // A field that readers do not need, or that they read all the same, has another value than the
  // specification allows. Where readers have told of the field already, nothing is added.
  void disagrees(PlaceId place, const Error& error) const { tally.disagrees(places.path(place), error); }
};

// Checks header, attributes, and what belongs to the object's kind. The objects that the hard links of a
// group lead to are added to the places.
void check_object(const Context& context, PlaceId place);

// Checks the raw data of a dataset. Returns what of it the file has.
DataTotals check_data(const Context& context, PlaceId place, const object::DatasetDescription& description);

}  // namespace h5mount::check
