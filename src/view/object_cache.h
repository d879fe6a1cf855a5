// ObjectCache: recently opened objects of one file, so that a lookup and the requests that follow it read a header
// once. Bounded by count and by bytes; the least recently used goes first. Threads: any; no lock is held while reading.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "h5mount/object/object.h"
#include "joined_once.h"

namespace h5mount {

// Shown name to link name of those links of a group that are shown by a cut name, or by one that looks so.
using CutNames = std::unordered_map<std::string, std::string>;

// An object and what was made of it on demand.
struct OpenedObject {
  explicit OpenedObject(Object opened) : object(std::move(opened)) {}
  const Object object;
  mutable JoinedOnce<std::shared_ptr<const Group>> group;
  mutable JoinedOnce<std::shared_ptr<const CutNames>> cut_names;
  mutable JoinedOnce<std::shared_ptr<const DatasetDescription>> description;
};
using OpenedObjectPtr = std::shared_ptr<const OpenedObject>;

class ObjectCache {
 public:
  // `lifetime`: objects are opened anew after that long (a file that grows); nothing: never.
  explicit ObjectCache(std::optional<std::chrono::milliseconds> lifetime) : lifetime_(lifetime) {}

  OpenedObjectPtr find(std::uint64_t address);
  void insert(std::uint64_t address, OpenedObjectPtr object);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::uint64_t address;
    OpenedObjectPtr object;
    std::size_t bytes;
    Clock::time_point opened;
  };
  void drop_last();

  std::optional<std::chrono::milliseconds> lifetime_;
  std::mutex mutex_;
  std::list<Entry> recent_;  // most recent first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> by_address_;
  std::size_t bytes_ = 0;
};

}  // namespace h5mount
