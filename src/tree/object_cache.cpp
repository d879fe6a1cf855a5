#include "object_cache.h"

#include "h5mount/base/lru_cache.h"

namespace h5mount::tree {

namespace {

constexpr std::size_t kMaxBytes = 8U << 20;

std::size_t cost_of(const OpenedObject& opened) {
  std::size_t bytes = 1024;
  for (const metadata::HeaderMessage& message : opened.object.header->messages)
    bytes += sizeof message + message.body.size();
  return bytes;
}

}  // namespace

struct ObjectCache::OfSnapshot {
  explicit OfSnapshot(metadata::FileMetadataPtr of) : snapshot(std::move(of)) {}
  const metadata::FileMetadataPtr snapshot;
  LruCache<OpenedObject> objects{kMaxBytes, 1};
};

OpenedObjectPtr ObjectCache::find(std::uint64_t address, const metadata::FileMetadataPtr& snapshot) const {
  const auto newest = newest_.load();
  return newest && newest->snapshot == snapshot ? newest->objects.find(address) : nullptr;
}

// Null where there is a newer one.
std::shared_ptr<ObjectCache::OfSnapshot> ObjectCache::newest(const metadata::FileMetadataPtr& snapshot) {
  std::shared_ptr<OfSnapshot> newest = newest_.load();
  while (!newest || newest->snapshot != snapshot) {
    if (newest && snapshot->number() < newest->snapshot->number()) return nullptr;
    auto next = std::make_shared<OfSnapshot>(snapshot);
    if (newest_.compare_exchange(newest, next)) return next;
  }
  return newest;
}

void ObjectCache::insert(std::uint64_t address, const OpenedObjectPtr& object) {
  if (const auto kept = newest(object->snapshot)) kept->objects.insert(address, object, cost_of(*object));
}

}  // namespace h5mount::tree
