// Filters from plugins, for the registry.
#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "../filters.h"
#include "h5mount/base/log.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/thread_annotations.h"
#include "process.h"

namespace h5mount::filter {

namespace {

constexpr std::size_t kMaxIdle = 16;

// Helpers for one filter and one chunk size. Idle helpers are kept; each is used by one thread at a time.
class PluginPool {
 public:
  PluginPool(PluginOptions options, int id, std::uint64_t memory)
      : options_(std::move(options)), id_(id), memory_(memory) {}

  Result<std::unique_ptr<PluginProcess>> take() {
    {
      const MutexLock lock(mutex_);
      if (!idle_.empty()) {
        auto process = std::move(idle_.back());
        idle_.pop_back();
        return process;
      }
    }
    return PluginProcess::start(options_, id_, memory_);
  }

  void give_back(std::unique_ptr<PluginProcess> process) {
    if (!process->usable()) return;
    const MutexLock lock(mutex_);
    if (idle_.size() < kMaxIdle) idle_.push_back(std::move(process));
  }

 private:
  PluginOptions options_;
  int id_;
  std::uint64_t memory_;
  Mutex mutex_;
  std::vector<std::unique_ptr<PluginProcess>> idle_ H5_GUARDED_BY(mutex_);
};

class PluginFilter : public Filter {
 public:
  PluginFilter(std::shared_ptr<PluginPool> pool, std::vector<std::uint32_t> values)
      : pool_(std::move(pool)), values_(std::move(values)) {}

  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    H5_ASSIGN(auto process, pool_->take());
    auto written = process->decode(in, values_, out);
    if (!written && !process->usable()) log_error(written.error());
    pool_->give_back(std::move(process));
    return written;
  }

 private:
  std::shared_ptr<PluginPool> pool_;
  std::vector<std::uint32_t> values_;
};

// Memory of a helper besides its libraries: stored and decoded bytes, the codec's working memory, and a
// reserve.
std::uint64_t memory_for(std::size_t chunk_bytes) {
  const std::uint64_t chunk =
      std::bit_ceil(std::clamp<std::uint64_t>(chunk_bytes, 1, std::uint64_t{1} << 40));
  return (std::uint64_t{512} << 20) + 8 * chunk;
}

class PluginProvider {
 public:
  explicit PluginProvider(PluginOptions options) : options_(std::move(options)) {}

  Result<FilterPtr> make(const FilterSpec& spec, std::size_t chunk_bytes) {
    const std::uint64_t memory = memory_for(chunk_bytes);
    const std::shared_ptr<OncePool> once = once_for({spec.id, memory});
    H5_ASSIGN(PoolPtr pool, once->get([&] { return open_pool(spec.id, memory); }, Unbounded()));
    if (!pool) return fail({ErrorCode::NotFound, "no plugin has this filter"});
    return std::make_shared<const PluginFilter>(std::move(pool), spec.client_data);
  }

 private:
  using PoolPtr = std::shared_ptr<PluginPool>;
  using OncePool = OnceValue<PoolPtr>;
  using Key = std::pair<std::uint16_t, std::uint64_t>;  // the filter's number, the helper's memory

  // The pool is opened without a lock, as its first helper may take as long as its timeout to start: only
  // those that need this filter wait for it.
  std::shared_ptr<OncePool> once_for(const Key& key) {
    const MutexLock lock(mutex_);
    std::shared_ptr<OncePool>& once = pools_[key];
    if (!once) once = std::make_shared<OncePool>();
    return once;
  }

  // Starts the first helper, which shows whether a plugin exists; returns null if none does. Other errors are
  // not kept.
  Result<PoolPtr> open_pool(std::uint16_t id, std::uint64_t memory) const {
    auto pool = std::make_shared<PluginPool>(options_, id, memory);
    auto first = pool->take();
    if (!first && first.error().code() == ErrorCode::NotFound) return nullptr;
    if (!first) return fail(std::move(first).error());
    pool->give_back(*std::move(first));
    return pool;
  }

  PluginOptions options_;
  Mutex mutex_;
  std::map<Key, std::shared_ptr<OncePool>> pools_ H5_GUARDED_BY(mutex_);
};

std::shared_ptr<PluginProvider>& provider() {
  static std::shared_ptr<PluginProvider> one;
  return one;
}

}  // namespace

Result<FilterPtr> make_plugin_filter(const FilterSpec& spec, std::size_t chunk_bytes) {
  if (!provider() || WithoutPlugins::in_force())
    return fail({ErrorCode::NotFound, "plugins were not asked for"});
  return provider()->make(spec, chunk_bytes);
}

void use_filter_plugins(PluginOptions options) {
  provider() = options.directories.empty() ? nullptr : std::make_shared<PluginProvider>(std::move(options));
}

}  // namespace h5mount::filter
