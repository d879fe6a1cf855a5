// ServedSource: a source and its newest opened state. A request holds the state that it began with, so that a
// download goes on when the file is replaced. Threads: any; no lock is held while the source is looked at or
// opened, so that a source which hangs holds up only those who ask for it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "h5mount/base/hash.h"
#include "h5mount/base/lru_cache.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/front/path_walk.h"
#include "h5mount/serve/server.h"
#include "h5mount/tree/file_object.h"

namespace h5mount::serve {

using ListingPtr = std::shared_ptr<const tree::DirectoryListing>;

// The listings of directories that answers are made from. All clients that list a directory at the same time
// use one listing, so that all listings together take as much memory as the links of a file.
class SharedListings {
 public:
  // `version` is the file's. The caller must hold a reference to the directory as long as it uses the
  // listing.
  Result<ListingPtr> open(tree::Tree& tree, tree::NodeId directory, const std::string& version,
                          RequestBudget& budget);

 private:
  using Key = std::pair<tree::NodeId, std::string>;
  using Once = OnceValue<ListingPtr>;

  Mutex mutex_;
  std::map<Key, std::weak_ptr<Once>> listings_ H5_GUARDED_BY(mutex_);
};

// RecentFiles: the files that were answered last, whose nodes are kept, as a kernel does in a mount: what was
// found and decoded for one request is then there for the next. Threads: any.
class RecentFiles {
 public:
  explicit RecentFiles(std::size_t most)
      : nodes_(most), facts_(most), least_bytes_(kElementsBytes / most), elements_(kElementsBytes, 1) {}
  void keep(front::NodeReference node) {
    const tree::NodeId id = node.id();
    if (!nodes_.find(id)) nodes_.insert(id, std::make_shared<const front::NodeReference>(std::move(node)), 1);
  }

  // Facts about a file, besides its bytes, in one version of the file that the node belongs to.
  struct Facts {
    std::string version;
    std::vector<std::pair<std::string, std::string>> fields;
  };
  // `make` is called if the facts are not known. They are not kept without a version, nor if something could
  // not be read for a moment.
  template <class Make>
  std::shared_ptr<const Facts> facts(tree::NodeId node, const std::string& version, const Make& make) {
    auto known = facts_.find(node);
    if (known && known->version == version && !version.empty()) return known;
    const MomentaryWatch watch;
    known = std::make_shared<const Facts>(Facts{version, make()});
    if (!version.empty() && !watch.met()) facts_.insert(node, known, 1);
    return known;
  }

  // The elements of a dataset, which all requests for them share.
  Result<view::ViewInput> elements_of(const tree::FileObject& object, RequestBudget& budget);

  // A text that was answered, made from this file alone in one version of it. The description of a group
  // takes time in proportion to its members, so it is kept.
  struct Text {
    std::string asked, version, text;
  };
  std::shared_ptr<const Text> find_text(const std::string& asked, const std::string& version) {
    auto known = texts_.find(fnv1a(asked));
    return known && known->asked == asked && known->version == version && !version.empty() ? known : nullptr;
  }
  void keep_text(Text text) {
    const std::size_t bytes = text.text.size() + text.asked.size() + kTextOverhead;
    const std::uint64_t key = fnv1a(text.asked);
    if (!text.version.empty()) texts_.insert(key, std::make_shared<const Text>(std::move(text)), bytes);
  }

 private:
  static constexpr std::size_t kTextBytes = 8U << 20, kTextOverhead = 256;
  // The bytes that readers of elements which nobody uses now may take; most take next to nothing.
  static constexpr std::size_t kElementsBytes = 16U << 20;
  struct Elements {
    std::shared_ptr<const void> file;
    std::uint64_t address = 0;
    tree::SharedElements newest;
  };
  std::shared_ptr<const Elements> find_elements(std::uint64_t key, const tree::FileObject& object);

  LruCache<front::NodeReference> nodes_;
  LruCache<Facts> facts_;
  const std::size_t least_bytes_;  // that elements count with
  Mutex mutex_;                    // held while elements are added, so that two requests share them
  LruCache<Elements> elements_;
  LruCache<Text> texts_{kTextBytes};
};

// A source as one request sees it. The version was taken before anything of the tree is read, so that bytes
// may be newer than their entity tag but never older.
struct Snapshot {
  std::shared_ptr<tree::Tree> tree;
  std::shared_ptr<void> pin;
  std::string version;        // the file's; empty if there is none, or if it is not known which
  std::uint64_t opening = 0;  // differs if the source was opened again
  std::int64_t modified = 0;  // seconds since 1970
  std::function<bool(const tree::NodeStat&)> shown;  // as in OpenedSource
  std::shared_ptr<SharedListings> listings;
  std::shared_ptr<RecentFiles> recent;
  bool many = false;   // whether it has many files: see ServedSource::of_file
  bool plain = false;  // the node is of a file that is not HDF5
};

class ServedSource {
 public:
  explicit ServedSource(SourceToServe source);

  const std::string& name() const { return name_; }

  // The newest state. Opens the source again if another file has its name now; requests that come meanwhile
  // share that opening, and wait within their budget. Errors: those of opening.
  Result<std::shared_ptr<const Snapshot>> current(RequestBudget& budget);

  // The same state for one of many files, with that file's version. To be called before anything of the file
  // is read.
  std::shared_ptr<const Snapshot> of_file(std::shared_ptr<const Snapshot> snapshot,
                                          const std::optional<tree::FileOfNode>& file);

 private:
  // The numbers of recent files. If there are many files, the tree of one of them is kept as long as a recent
  // node belongs to it; max_open= bounds the descriptors.
  static constexpr std::size_t kRecent = 512, kRecentOfMany = 64;
  struct Opened {
    OpenedSource source;
    std::uint64_t number = 0;
    SourceState state() const { return source.state ? source.state() : SourceState{}; }
    std::shared_ptr<SharedListings> listings = std::make_shared<SharedListings>();
    std::shared_ptr<RecentFiles> recent =
        std::make_shared<RecentFiles>(source.state ? kRecent : kRecentOfMany);
  };
  using OpenedPtr = std::shared_ptr<const Opened>;
  using Opening = OnceValue<OpenedPtr>;

  std::shared_ptr<Opening> opening() const;
  void open_anew(const std::shared_ptr<Opening>& outdated);
  std::shared_ptr<const Snapshot> snapshot_of(const Opened& opened, const SourceState& state);
  std::string version_text(std::uint64_t version, std::int64_t modified);

  const std::string name_;
  const std::function<Result<OpenedSource>()> open_;
  const std::uint64_t run_;  // differs for each run of the program
  mutable Mutex mutex_;
  std::shared_ptr<Opening> opening_ H5_GUARDED_BY(mutex_) = std::make_shared<Opening>();
  std::atomic<std::uint64_t> unsettled_ = 0, openings_ = 0;
};

}  // namespace h5mount::serve
