// BlockCache: decoded blocks under one budget of bytes, sharded by key. Concurrent requests for a block share
// one load. It knows nothing of HDF5.
//
// A miss inserts a pending entry, on which later callers wait; the loader runs with no lock held; a failure
// is returned to all waiters and not kept. Readers own references: eviction only drops the cache's own. The
// bytes of a pending block are charged to the budget before it is loaded, so the cache's own blocks never
// exceed the budget. A waiter loads the block itself if the failure concerns only the loader's request.
//
// Other memory that files drive (texts, listings, scratch memory) is charged to the same budget: see Charge.
// Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"
#include "h5mount/base/request_budget.h"

namespace h5mount::cache {

struct BlockKey {
  std::uint64_t owner = 0;  // one per open dataset reader (see BlockCache::new_owner)
  std::uint64_t kind = 0;   // chunk, row block, page of text: numbered by the owner
  std::uint64_t index = 0;
  bool operator==(const BlockKey&) const = default;
};

// A block's bytes: fixed size, aligned to 64, not initialised.
class Block {
 public:
  explicit Block(std::size_t size);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  MutableByteSpan bytes() { return {data_, size_}; }
  ByteSpan bytes() const { return {data_, size_}; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
};
using BlockPtr = std::shared_ptr<const Block>;

class BlockCache {
  struct Impl;

 public:
  // A charge for memory besides the blocks, for as long as this object lives (longer than the cache if need
  // be): blocks are evicted to make room for it. One thread at a time.
  class Charge {
   public:
    Charge() = default;
    ~Charge();
    Charge(Charge&& other) noexcept : impl_(std::move(other.impl_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Charge& operator=(Charge&& other) noexcept {
      std::swap(impl_, other.impl_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    std::size_t bytes() const { return bytes_; }
    // Changes the charge. Fails with OutOfMemory, and leaves the charge unchanged, if all charges together
    // would exceed the budget by more than limits::kMemoryAboveCache. If there is no other charge, any size
    // is accepted.
    Status resize(std::size_t bytes);

   private:
    friend class BlockCache;
    explicit Charge(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;  // null: nothing can be charged
    std::size_t bytes_ = 0;
  };
  Charge no_charge() const { return Charge(impl_); }
  Result<Charge> charge(std::size_t bytes) const;
  std::size_t charged() const;  // beside the blocks

  explicit BlockCache(std::size_t budget_bytes);
  ~BlockCache();

  // Fills the new block completely. `budget` is that of the request, which ends the wait for a block that
  // another request loads.
  using Loader = std::function<Status(Block&)>;
  Result<BlockPtr> get_or_load(const BlockKey& key, std::size_t size, const Loader& load,
                               RequestBudget& budget);
  // For blocks whose size is known only after loading: `estimate` bytes are charged until then.
  using Maker = std::function<Result<std::shared_ptr<Block>>()>;
  Result<BlockPtr> get_or_make(const BlockKey& key, std::size_t estimate, const Maker& make,
                               RequestBudget& budget);
  // The block if it is loaded, else null; neither waits nor loads.
  BlockPtr peek(const BlockKey& key);
  bool contains_or_pending(const BlockKey& key);
  void erase(const BlockKey& key);
  void erase_owner(std::uint64_t owner);

  std::size_t budget() const;
  std::size_t used() const;
  struct Counters {
    std::uint64_t hits = 0, misses = 0, joins = 0, evictions = 0;
  };
  Counters counters() const;
  static std::uint64_t new_owner();

 private:
  struct Shard;
  struct Loading;
  std::shared_ptr<Impl> impl_;
};

}  // namespace h5mount::cache
