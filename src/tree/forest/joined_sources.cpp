#include "joined_sources.h"

#include <chrono>

#include "h5mount/base/shared_slot.h"
#include "h5mount/cache/worker_pool.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

constexpr std::string_view kJoined = "joined";

// A file's directory and name.
struct JoinPlace {
  ForestDirectoryPtr directory;
  std::string name;
};

join::SourceFile source_file(std::string path, const ForestEntry& entry) {
  const object::SourceEntry& source = entry.source;
  return {std::move(path), source.identity, source.stamp, source.size, source.modified, source.attributes};
}

class ForestSources final : public join::SourceFiles {
 public:
  ForestSources(ForestDirectoryPtr top, const ForestOptions& options)
      : top_(std::move(top)), options_(options) {}

  Result<std::vector<join::SourceFile>> survey(RequestBudget& budget) const override {
    std::vector<join::SourceFile> out;
    std::vector<UniqueFd> watched;
    H5_TRY(add(*top_, "", 0, out, watched, budget));
    const MutexLock lock(mutex_);
    if (watched.size() != watched_.size()) watched_ = std::move(watched);
    return out;
  }

  Result<join::SourceFile> look_at(const std::string& path) const override {
    H5_ASSIGN(const JoinPlace place, place_of(path));
    H5_ASSIGN(const ForestEntry entry, place.directory->find_entry(place.name));
    return source_file(path, entry);
  }

  Result<dataset::ReadEnvironment> open(const std::string& path) const override {
    H5_ASSIGN(const JoinPlace place, place_of(path));
    H5_ASSIGN(auto files, place.directory->open(place.name));
    return options_.environment(std::move(files));
  }

  bool far() const override { return options_.far; }

  std::vector<std::byte> remembered(const join::SourceFile& file) const override {
    std::vector<std::byte> out;
    if (!options_.remembered) return out;
    const auto found = options_.remembered->find(key_of(file), [&](const CatalogueRow& row) -> Status {
      const ByteSpan bytes = as_bytes(row.value);
      out.assign(bytes.begin(), bytes.end());
      return {};
    });
    return found.value_or(false) ? out : std::vector<std::byte>();
  }
  void remember(const join::SourceFile& file, ByteSpan card) const override {
    if (!options_.remembered || card.size() > kMaxRowBytes / 2) return;
    bool given = false;
    options_.remembered->put(key_of(file), [&](CatalogueRow& row) -> Result<bool> {
      row = {};
      row.value = as_text(card);
      return !std::exchange(given, true);
    });
  }

  std::vector<std::string> watchable() const override {
    std::vector<std::string> out;
    const MutexLock lock(mutex_);
    for (const UniqueFd& one : watched_) out.push_back("/proc/self/fd/" + std::to_string(one.get()));
    return out;
  }

  void run_later(std::function<void()> work) const override {
    const dataset::ReadEnvironment environment = options_.environment(nullptr);
    if (!environment.workers || !environment.workers->submit(work)) work();
  }

 private:
  static constexpr unsigned kMostDepth = 64;

  static CatalogueStore::Key key_of(const join::SourceFile& file) {
    return {card_identity(file.identity), file.stamp, file.size};
  }

  Status add(const ForestDirectory& directory, const std::string& path, unsigned depth,
             std::vector<join::SourceFile>& out, std::vector<UniqueFd>& watched,
             RequestBudget& budget) const {
    constexpr std::size_t kMostWatched = 256;
    if (watched.size() < kMostWatched)
      if (auto descriptor = directory.watchable()) watched.push_back(*std::move(descriptor));
    H5_ASSIGN(auto listing, directory.list());
    for (const ForestDirectory::Item& item : listing.items) {
      constexpr std::uint64_t kSteps = 1000;
      H5_TRY(budget.spend(kSteps));
      const auto entry = directory.find_entry(item.name);
      if (!entry && entry.error().code() == ErrorCode::NotFound) continue;
      if (!entry) return fail(entry.error());
      const std::string at = path.empty() ? item.name : path + "/" + item.name;
      if (entry->kind == ForestEntry::Kind::Hdf5) out.push_back(source_file(at, *entry));
      if (entry->kind != ForestEntry::Kind::Directory || depth == kMostDepth) continue;
      H5_ASSIGN(const auto below, directory.enter(item.name));
      H5_TRY(add(*below, at, depth + 1, out, watched, budget));
    }
    return {};
  }

  Result<JoinPlace> place_of(const std::string& path) const {
    JoinPlace out{top_, path};
    for (std::size_t slash; (slash = out.name.find('/')) != std::string::npos;) {
      H5_ASSIGN(out.directory, out.directory->enter(out.name.substr(0, slash)));
      out.name.erase(0, slash + 1);
    }
    return out;
  }

  const ForestDirectoryPtr top_;
  const ForestOptions options_;  // its own, as files may still be looked at when the forest is gone
  mutable Mutex mutex_;
  mutable std::vector<UniqueFd> watched_ H5_GUARDED_BY(mutex_);  // directories, as of the last survey
};

class JoinedDirectory final : public ForestDirectory {
 public:
  JoinedDirectory(ForestDirectoryPtr top, const ForestOptions& options, join::JoinedFilePtr joined)
      : top_(std::move(top)), options_(options), joined_(std::move(joined)), sources_(top_, options) {}

  Result<Listing> list() const override {
    Listing out;
    out.items.push_back({std::string(kJoined), NodeType::Directory});
    return out;
  }

  Result<ForestEntry> find_entry(const std::string& name) const override {
    H5_ASSIGN(ForestEntry out, top_->find_entry({}));
    if (name.empty()) return out;
    if (name != kJoined) return fail({ErrorCode::NotFound, "no such entry"});
    joined_->check();
    out.kind = ForestEntry::Kind::Hdf5;
    object::FileAttributes& attributes = out.source.attributes;
    if (joined_->version() != 0) {
      attributes = joined_->attributes();
    } else if (options_.checks_others || options_.catalogue_for_others) {
      RequestBudget budget;
      H5_ASSIGN(const auto files, sources_.survey(budget));
      attributes.mode &= join::common_attributes(files).mode;
    }
    // Nodes show the rights that the files had when the tree was made: with other rights it is another one.
    out.source.identity = mix_bits({attributes.uid, attributes.gid, attributes.mode & 0444U});
    // If nothing could be joined, it is tried again: files may have come that change it.
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch());
    const std::uint64_t tried = joined_->version() == 0 ? static_cast<std::uint64_t>(seconds.count()) / 2 : 0;
    out.source.stamp = mix_bits({out.source.identity, joined_->version(), tried});
    return out;
  }

  Result<ForestDirectoryPtr> enter(const std::string&) const override {
    return fail({ErrorCode::NotFound, "no such directory"});
  }
  Result<std::shared_ptr<object::FileSet>> open(const std::string&) const override {
    RequestBudget budget;
    return joined_->open_made(budget);
  }
  Result<UniqueFd> watchable() const override { return fail({ErrorCode::UnsupportedFeature, "it is made"}); }
  std::optional<Shown> shown_at(const std::string&, std::string_view) const override { return std::nullopt; }
  std::string name() const override { return std::string(kHiddenName); }
  join::JoinedFilePtr joined() const override { return joined_; }

 private:
  const ForestDirectoryPtr top_;
  const ForestOptions& options_;
  const join::JoinedFilePtr joined_;
  const ForestSources sources_;
};

}  // namespace

join::JoinedFilePtr make_joined_file(ForestDirectoryPtr top, const ForestOptions& options) {
  if (!options.join) return nullptr;
  return join::JoinedFile::make(std::make_shared<ForestSources>(std::move(top), options), *options.join);
}

ForestDirectoryPtr make_joined_directory(ForestDirectoryPtr top, const ForestOptions& options,
                                         join::JoinedFilePtr joined) {
  return std::make_shared<JoinedDirectory>(std::move(top), options, std::move(joined));
}

}  // namespace h5mount::tree
