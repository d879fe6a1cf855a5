// BlockCache: decoded blocks under one budget of bytes, sharded, each block made once however many ask for
// it. It knows nothing of HDF5.
//
// A miss puts a pending entry that later callers wait on; the loader runs with no lock held; a failure goes
// to all waiters and is not kept. Readers keep what they hold: eviction only drops the cache's own reference.
// Bytes of pending blocks are charged before they are made, so the budget is never exceeded by what the cache
// itself holds. Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"

namespace h5mount::cache {

struct BlockKey {
  std::uint64_t owner = 0;  // one per open dataset reader (see BlockCache::new_owner)
  std::uint64_t kind = 0;   // chunk, band, page of text: the owner's own numbering
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
 public:
  explicit BlockCache(std::size_t budget_bytes);
  ~BlockCache();

  // Fills a fresh block of `size` bytes.
  using Loader = std::function<Status(Block&)>;
  Result<BlockPtr> get_or_load(const BlockKey& key, std::size_t size, const Loader& load);
  // For blocks whose size is known only once they are made: `estimate` is charged meanwhile.
  using Maker = std::function<Result<std::shared_ptr<Block>>()>;
  Result<BlockPtr> get_or_make(const BlockKey& key, std::size_t estimate, const Maker& make);
  // Only what is there and done; does not wait and does not load.
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
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace h5mount::cache
