// ObjectCache: recently opened objects of one snapshot of a file, so that a lookup and the requests that
// follow it read a header once. They share one bound with everything else that is kept decoded, for all files
// together (base/shared_cache.h); the most recent object is kept whatever its size. Threads: any; no lock is
// held while reading.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "h5mount/base/once_value.h"
#include "h5mount/base/shared_cache.h"
#include "h5mount/base/shared_slot.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/dataset/dataset_reader.h"
#include "h5mount/object/object.h"
#include "h5mount/tree/tree.h"

namespace h5mount::tree {

// Maps shown names to link names, for the links of a group that are shown by a cut name, or whose names look
// like a cut one.
using CutNames = std::unordered_map<std::string, std::string>;

// The own names of the attributes whose values are longer than an extended attribute can be.
using LargeAttributes = std::unordered_set<std::string>;
// Damage to a list of links or attributes. `list`: why entries may be missing; `entry`: what is wrong with
// the first damaged one of the entries that are there.
struct FoundDamage {
  std::optional<Error> list, entry;
};

using DatasetDescriptionPtr = std::shared_ptr<const object::DatasetDescription>;

// A listing, kept as long as somebody uses it.
class WeakListing {
 public:
  std::shared_ptr<const DirectoryListing> get() const {
    const MutexLock lock(mutex_);
    return listing_.lock();
  }
  void set(const std::shared_ptr<const DirectoryListing>& listing) {
    const MutexLock lock(mutex_);
    listing_ = listing;
  }

 private:
  mutable Mutex mutex_;
  std::weak_ptr<const DirectoryListing> listing_ H5_GUARDED_BY(mutex_);
};

// An object of one snapshot, and what was made from it on demand.
struct OpenedObject {
  OpenedObject(object::Object opened, metadata::FileMetadataPtr pinned, const OpenedObject* before = nullptr)
      : object(std::move(opened)),
        snapshot(std::move(pinned)),
        extent_before(before != nullptr ? before->extent.peek().value_or(nullptr) : nullptr) {}
  const object::Object object;
  const metadata::FileMetadataPtr snapshot;  // all that belongs to the object is read through it
  mutable OnceValue<std::shared_ptr<const object::Group>> group;
  mutable OnceValue<std::shared_ptr<const CutNames>> cut_names;
  mutable WeakListing listing;  // of its links
  mutable OnceValue<std::shared_ptr<const LargeAttributes>> large_attributes;
  mutable OnceValue<FoundDamage> links_damage, attributes_damage;
  mutable OnceValue<DatasetDescriptionPtr> description;
  // A virtual dataset of unlimited extent is as large as its sources. `extent`: its reader, once the
  // description was needed; `extent_before`: the reader from before its sources changed.
  mutable OnceValue<std::shared_ptr<const dataset::DatasetReader>> extent;
  const std::shared_ptr<const dataset::DatasetReader> extent_before;

  bool sources_changed() const {
    const auto reader = extent.peek();
    return reader && (*reader)->sources_changed();
  }
};
using OpenedObjectPtr = std::shared_ptr<const OpenedObject>;
std::size_t memory_bytes(const OpenedObject& opened);  // about

class ObjectCache {
 public:
  explicit ObjectCache(std::shared_ptr<SharedCache> memory) : memory_(std::move(memory)) {}

  // Returns null if no object of this snapshot is cached.
  OpenedObjectPtr find(std::uint64_t address, const metadata::FileMetadataPtr& snapshot) const;
  // Replaces the object at this address. Objects of older snapshots are dropped; if `object` itself is of an
  // older snapshot, it is not kept.
  void insert(std::uint64_t address, const OpenedObjectPtr& object);
  // To be called after something was made from the object on demand: charges it.
  void charge_again(const OpenedObject& object);

 private:
  struct OfSnapshot;
  std::shared_ptr<OfSnapshot> newest(const metadata::FileMetadataPtr& snapshot);

  const std::shared_ptr<SharedCache> memory_;
  SharedSlot<OfSnapshot> newest_;
};

}  // namespace h5mount::tree
