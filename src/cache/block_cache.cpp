#include "h5mount/cache/block_cache.h"

#include <array>
#include <atomic>
#include <limits>
#include <list>
#include <optional>
#include <unordered_map>

#include "h5mount/base/hash.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/thread_annotations.h"
#include "heap_trim.h"

namespace h5mount::cache {
namespace {

constexpr std::size_t kShards = 16;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kEntryOverhead = 256;  // map node, list node, pending state, allocation headers

struct KeyHash {
  std::size_t operator()(const BlockKey& key) const { return mix_bits({key.owner, key.kind, key.index}); }
};

// A block that is being loaded; later callers wait on it.
class Pending {
 public:
  void publish(Result<BlockPtr> value) noexcept {
    {
      const MutexLock lock(mutex);
      result = std::move(value);
    }
    ready.notify_all();
  }
  Result<BlockPtr> wait(RequestBudget& budget) {
    H5_TRY(wait_within(budget, mutex, ready, [this]() H5_REQUIRES(mutex) { return result.has_value(); }));
    const MutexLock lock(mutex);
    return *result;
  }

 private:
  Mutex mutex;
  Condition ready;
  std::optional<Result<BlockPtr>> result H5_GUARDED_BY(mutex);
};

struct Cached {
  BlockKey key;
  std::uint64_t last_use = 0;
  BlockPtr block;                    // null while pending
  std::shared_ptr<Pending> pending;  // null once done
};

}  // namespace

struct alignas(64) BlockCache::Shard {  // two shards never share a cache line
  Mutex mutex;
  std::uint64_t hits H5_GUARDED_BY(mutex) = 0;
  // Most recently used first; loaded blocks; pending ones are in `making`.
  std::list<Cached> order H5_GUARDED_BY(mutex);
  std::list<Cached> making H5_GUARDED_BY(mutex);
  std::unordered_map<BlockKey, std::list<Cached>::iterator, KeyHash> map H5_GUARDED_BY(mutex);
  std::atomic<std::uint64_t> oldest{
      kNever};  // last_use of order.back(): read without the lock to choose a victim

  void note_oldest() H5_REQUIRES(mutex) {
    oldest.store(order.empty() ? kNever : order.back().last_use, std::memory_order_relaxed);
  }
};

struct BlockCache::Impl {
  std::size_t budget = 0;
  std::atomic<std::size_t> used{0};     // blocks and charges
  std::atomic<std::size_t> charged{0};  // memory beside the blocks
  // Advances with each block that is added: a hit writes nothing that other shards use. Blocks that were used
  // between the same two additions are equally old to another shard; within a shard the list has their order.
  std::atomic<std::uint64_t> clock{0};
  std::atomic<std::uint64_t> misses{0}, joins{0}, evictions{0};
  std::array<Shard, kShards> shards;
  HeapTrim trim;

  Shard& shard_of(const BlockKey& key) { return shards[KeyHash{}(key) >> 7 & (kShards - 1)]; }
  // The age of a block that is added now: younger than any block that was used before, but older than its own
  // first use.
  std::uint64_t time_of_addition() { return clock.fetch_add(2, std::memory_order_relaxed) + 2; }
  std::uint64_t time_of_use() const { return clock.load(std::memory_order_relaxed) + 1; }

  // Evicts blocks, least recently used first over all shards, until the charge fits the budget. Blocks are
  // freed outside the locks.
  void evict_to_budget() {
    std::size_t freed = 0;
    while (used.load(std::memory_order_relaxed) > budget) {
      Shard* victim = nullptr;
      std::uint64_t oldest = kNever;
      for (Shard& shard : shards) {
        const std::uint64_t age = shard.oldest.load(std::memory_order_relaxed);
        if (age < oldest) oldest = age, victim = &shard;
      }
      if (victim == nullptr) break;  // only pending blocks are left
      BlockPtr dropped;
      const MutexLock lock(victim->mutex);
      if (victim->order.empty()) continue;
      dropped = std::move(victim->order.back().block);
      victim->map.erase(victim->order.back().key);
      victim->order.pop_back();
      victim->note_oldest();
      used.fetch_sub(dropped->size() + kEntryOverhead, std::memory_order_relaxed);
      evictions.fetch_add(1, std::memory_order_relaxed);
      freed += dropped->size();
    }
    if (freed != 0) trim.note_freed(freed);
  }

  // Completes a pending entry with its block, or removes it. Returns false if the block is not kept: `keep`
  // is false, or the entry was erased (and perhaps replaced by another caller's) during the load.
  bool complete(Shard& shard, const BlockKey& key, const Pending* pending, const BlockPtr& block, bool keep) {
    const MutexLock lock(shard.mutex);
    const auto found = shard.map.find(key);
    if (found == shard.map.end() || found->second->pending.get() != pending) return false;
    const auto entry = found->second;
    if (!keep) {
      shard.map.erase(found);
      shard.making.erase(entry);
      return false;
    }
    entry->block = block;
    entry->pending = nullptr;
    entry->last_use = time_of_addition();
    shard.order.splice(shard.order.begin(), shard.making, entry);
    shard.note_oldest();
    return true;
  }
};

// The loading of a block, from its entry on. Its end answers the waiters and corrects the charge, also if
// something throws: then the failure is told without any memory.
struct BlockCache::Loading {
  Impl& impl;
  Shard& shard;
  const BlockKey& key;
  const std::shared_ptr<Pending>& pending;
  Result<BlockPtr> result = fail(no_memory());
  std::size_t charged = 0;

  void charge(std::size_t estimate) {
    impl.misses.fetch_add(1, std::memory_order_relaxed);
    charged = estimate + kEntryOverhead;
    impl.used.fetch_add(charged, std::memory_order_relaxed);
    impl.evict_to_budget();
  }

  ~Loading() {
    // Replaces the estimate by the block's real size. The difference may be negative: unsigned addition wraps
    // to the right sum.
    const std::size_t real = result ? (*result)->size() + kEntryOverhead : 0;
    impl.used.fetch_add(real - charged, std::memory_order_relaxed);
    const bool keep = result.has_value() && real <= impl.budget;
    const bool kept = impl.complete(shard, key, pending.get(), keep ? *result : BlockPtr(), keep);
    if (!kept)
      impl.used.fetch_sub(real, std::memory_order_relaxed);
    else
      impl.evict_to_budget();  // while it was pending nobody could evict it, whatever others charged
    pending->publish(std::move(result));
  }
};

BlockCache::BlockCache(std::size_t budget_bytes) : impl_(std::make_shared<Impl>()) {
  impl_->budget = budget_bytes;
}
BlockCache::~BlockCache() = default;

BlockCache::Charge::~Charge() {
  if (bytes_ == 0) return;
  impl_->charged.fetch_sub(bytes_, std::memory_order_relaxed);
  impl_->used.fetch_sub(bytes_, std::memory_order_relaxed);
  impl_->trim.note_freed(bytes_);
}

Status BlockCache::Charge::resize(std::size_t bytes) {
  if (!impl_) return {};
  // Unsigned differences wrap to the right sums.
  const std::size_t others = impl_->charged.fetch_add(bytes - bytes_, std::memory_order_relaxed) - bytes_;
  const std::size_t most = impl_->budget + limits::kMemoryAboveCache;
  if (bytes > bytes_ && others != 0 && (others > most || bytes > most - others)) {
    impl_->charged.fetch_sub(bytes - bytes_, std::memory_order_relaxed);
    return noted(Status(fail(Error(ErrorCode::OutOfMemory, "more memory than cache_size allows")
                                 .with_expected(most)
                                 .with_found(bytes))));
  }
  impl_->used.fetch_add(bytes - bytes_, std::memory_order_relaxed);
  bytes_ = bytes;
  impl_->evict_to_budget();
  return {};
}

Result<BlockCache::Charge> BlockCache::charge(std::size_t bytes) const {
  Charge charge(impl_);
  H5_TRY(charge.resize(bytes));
  return charge;
}

std::size_t BlockCache::charged() const {
  return impl_->charged.load(std::memory_order_relaxed);
}

Result<BlockPtr> BlockCache::get_or_load(const BlockKey& key, std::size_t size, const Loader& load,
                                         RequestBudget& budget) {
  const Maker make = [&]() -> Result<std::shared_ptr<Block>> {
    auto block = std::make_shared<Block>(size);
    H5_TRY(load(*block));
    return block;
  };
  return get_or_make(key, size, make, budget);
}

Result<BlockPtr> BlockCache::get_or_make(const BlockKey& key, std::size_t estimate, const Maker& make,
                                         RequestBudget& budget) {
  Shard& shard = impl_->shard_of(key);
  std::shared_ptr<Pending> pending;
  for (;;) {
    MutexLock lock(shard.mutex);
    if (const auto found = shard.map.find(key); found != shard.map.end()) {
      const auto entry = found->second;
      if (entry->block) {
        entry->last_use = impl_->time_of_use();
        shard.order.splice(shard.order.begin(), shard.order, entry);
        shard.note_oldest();
        ++shard.hits;
        return entry->block;
      }
      pending = entry->pending;
      lock.unlock();
      impl_->joins.fetch_add(1, std::memory_order_relaxed);
      note_long_work();
      Result<BlockPtr> loaded = pending->wait(budget);
      if (!loaded && concerns_one_request(loaded.error())) {
        H5_TRY(budget.check());  // the failure may be this request's own
        continue;
      }
      return noted(std::move(loaded));
    }
    // Nothing between the entry's being seen and the guard below may throw: nobody else would end the wait of
    // those who join.
    pending = std::make_shared<Pending>();
    shard.making.push_front({key, 0, nullptr, pending});
    try {
      shard.map.emplace(key, shard.making.begin());
    } catch (...) {
      shard.making.pop_front();
      throw;
    }
    break;
  }
  Loading loading{*impl_, shard, key, pending};
  loading.charge(estimate);
  if (estimate > kQuickBytes) note_long_work();
  {
    const MomentaryWatch watch;
    if (auto made = watch.unless_met(make()); made)
      loading.result = BlockPtr(std::move(*made));
    else
      loading.result = fail(std::move(made).error());
  }
  return noted(loading.result);
}

BlockPtr BlockCache::peek(const BlockKey& key) {
  Shard& shard = impl_->shard_of(key);
  const MutexLock lock(shard.mutex);
  const auto found = shard.map.find(key);
  return found == shard.map.end() ? nullptr : found->second->block;
}

bool BlockCache::contains_or_pending(const BlockKey& key) {
  Shard& shard = impl_->shard_of(key);
  const MutexLock lock(shard.mutex);
  return shard.map.contains(key);
}

namespace {
// Removes one entry from a locked shard. A pending entry is only unlisted: its loader still answers the
// waiters and releases the charge.
template <class Shard, class Iterator>
std::size_t take_out(Shard& shard, Iterator found, BlockPtr& dropped) H5_REQUIRES(shard.mutex) {
  const auto entry = found->second;
  shard.map.erase(found);
  if (!entry->block) {
    shard.making.erase(entry);
    return 0;
  }
  dropped = std::move(entry->block);
  shard.order.erase(entry);
  shard.note_oldest();
  return dropped->size() + kEntryOverhead;
}
}  // namespace

void BlockCache::erase(const BlockKey& key) {
  Shard& shard = impl_->shard_of(key);
  BlockPtr dropped;
  const MutexLock lock(shard.mutex);
  const auto found = shard.map.find(key);
  if (found == shard.map.end()) return;
  impl_->used.fetch_sub(take_out(shard, found, dropped), std::memory_order_relaxed);
}

void BlockCache::erase_owner(std::uint64_t owner) {
  for (Shard& shard : impl_->shards) {
    std::list<BlockPtr> dropped;
    const MutexLock lock(shard.mutex);
    for (auto it = shard.map.begin(); it != shard.map.end();) {
      const auto next = std::next(it);
      if (it->first.owner == owner) {
        BlockPtr block;
        impl_->used.fetch_sub(take_out(shard, it, block), std::memory_order_relaxed);
        if (block) dropped.push_back(std::move(block));
      }
      it = next;
    }
  }
}

std::size_t BlockCache::budget() const {
  return impl_->budget;
}
std::size_t BlockCache::used() const {
  return impl_->used.load(std::memory_order_relaxed);
}
BlockCache::Counters BlockCache::counters() const {
  std::uint64_t hits = 0;
  for (Shard& shard : impl_->shards) {
    const MutexLock lock(shard.mutex);
    hits += shard.hits;
  }
  return {hits, impl_->misses.load(), impl_->joins.load(), impl_->evictions.load()};
}
std::uint64_t BlockCache::new_owner() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace h5mount::cache
