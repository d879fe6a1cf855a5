#include "h5mount/object/file_set.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/io/descriptors.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>

namespace h5mount::object {
namespace {

constexpr std::size_t kManyOpen = 256;  // files with their caches

// All files of a set share one bound on memory.
metadata::MetadataOptions with_memory(metadata::MetadataOptions options) {
  if (!options.memory) options.memory = std::make_shared<SharedCache>();
  return options;
}

class OpenFileSet final : public FileSet {
 public:
  OpenFileSet(std::shared_ptr<SourceOpener> opener, const metadata::MetadataOptions& options)
      : opener_(std::move(opener)), options_(with_memory(options)) {}

  Status open_main(const std::string& name) {
    const io::DescriptorPlace place;
    H5_ASSIGN(FoundSource found, opener_->find_main(name));
    const std::string key = found.key;
    H5_ASSIGN(main_, open_found(std::move(found)));
    const MutexLock lock(mutex_);
    opened_[key] = main_;
    return {};
  }

  Status open_main(std::shared_ptr<io::ByteSource> source) {
    H5_ASSIGN(auto followed, metadata::FollowedFile::open(std::move(source), options_));
    main_ = std::make_shared<OpenedFile>(OpenedFile{std::move(followed), {}, {}, {}, {}});
    return {};
  }

  const OpenedFilePtr& main() const override { return main_; }

  bool may_be_salvaged() const override { return opener_->may_salvage_main(); }
  bool salvage_fills() const override { return opener_->salvage_fills(); }
  Result<std::shared_ptr<FileSet>> salvaged(const std::function<bool()>& go_on) const override {
    H5_ASSIGN(auto source, opener_->salvage_main(go_on));
    if (!source) return nullptr;
    H5_ASSIGN(auto followed, metadata::FollowedFile::open(std::move(source), options_));
    auto set = std::make_shared<OpenFileSet>(opener_, options_);
    auto main = std::make_shared<OpenedFile>(*main_);
    main->followed = std::move(followed);
    set->main_ = std::move(main);
    return set;
  }

  const ExternalAccess& access() const override { return opener_->access(); }
  const std::shared_ptr<SharedCache>& memory() const override { return options_.memory; }

  Result<OpenedFilePtr> open_hdf5(const OpenedFilePtr& from, std::string_view name, NameUse use) override {
    if (name == "." || name.empty()) return from;
    const io::DescriptorPlace place;
    H5_ASSIGN(FoundSource found, noted(opener_->find_named(*from, name, use)));
    const std::string key = found.key;
    if (auto known = already_open(key)) return known;
    H5_ASSIGN(OpenedFilePtr opened, noted(open_found(std::move(found))));
    return remember(key, std::move(opened));
  }

  Result<std::shared_ptr<io::ByteSource>> open_raw(const OpenedFilePtr& from,
                                                   std::string_view name) override {
    const io::DescriptorPlace place;
    H5_ASSIGN(FoundSource found, noted(opener_->find_named(*from, name, NameUse::RawData)));
    return noted(found.open());
  }

  std::vector<OpenedFilePtr> open_files() const override {
    std::vector<OpenedFilePtr> out{main_};
    const MutexLock lock(mutex_);
    for (const auto& [identity, file] : opened_)
      if (OpenedFilePtr open = file.lock(); open && open != main_) out.push_back(std::move(open));
    return out;
  }

  bool follows() const override {
    if (main_->followed->following()) return true;
    if (opened_count_ == 0) return false;
    // Called for every reply, so the answer is cached; files are not checked for changes more often than
    // that.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    if (now < follows_expires_.load(std::memory_order_acquire))
      return follows_.load(std::memory_order_relaxed);
    const bool any =
        std::ranges::any_of(open_files(), [](const auto& file) { return file->followed->following(); });
    follows_.store(any, std::memory_order_relaxed);
    follows_expires_.store(now + std::chrono::nanoseconds(options_.revalidate_interval).count(),
                           std::memory_order_release);
    return any;
  }

  bool many_open() const override { return opened_count_ > kManyOpen; }

  void when_opened(std::function<void()> callback) override {
    const MutexLock lock(on_opened_mutex_);
    on_opened_ = std::move(callback);
  }

 private:
  Result<OpenedFilePtr> open_found(FoundSource found) const {
    H5_ASSIGN(auto source, found.open());
    H5_ASSIGN(auto followed, metadata::FollowedFile::open(std::move(source), options_));
    auto opened = std::make_shared<const OpenedFile>(
        OpenedFile{std::move(followed), std::move(found.path), std::move(found.directory),
                   std::move(found.target_directory), found.attributes});
    H5_TRY(opener_->admit(opened));
    return opened;
  }

  OpenedFilePtr already_open(const std::string& key) const {
    const MutexLock lock(mutex_);
    const auto found = opened_.find(key);
    return found == opened_.end() ? nullptr : found->second.lock();
  }

  // If two threads opened the same file at the same time, both use the one that was registered first.
  OpenedFilePtr remember(const std::string& key, OpenedFilePtr file) {
    {
      const MutexLock lock(mutex_);
      if (opened_.size() >= sweep_at_) {
        std::erase_if(opened_, [](const auto& entry) { return entry.second.expired(); });
        sweep_at_ = std::max(kManyOpen, 2 * opened_.size());
      }
      auto& kept = opened_[key];
      if (auto earlier = kept.lock()) return earlier;
      kept = file;
      opened_count_ = opened_.size();
      follows_expires_ = 0;
    }
    const MutexLock lock(on_opened_mutex_);
    if (on_opened_) on_opened_();
    return file;
  }

  const std::shared_ptr<SourceOpener> opener_;
  const metadata::MetadataOptions options_;
  OpenedFilePtr main_;
  std::atomic<std::size_t> opened_count_ = 0;  // files opened by name so far
  Mutex on_opened_mutex_;
  std::function<void()> on_opened_ H5_GUARDED_BY(on_opened_mutex_);
  mutable std::atomic<bool> follows_ = false;
  mutable std::atomic<std::int64_t> follows_expires_ =
      0;  // steady clock; time after which `follows_` is recomputed
  mutable Mutex mutex_;
  // When this many entries are reached, those of closed files are removed.
  std::size_t sweep_at_ H5_GUARDED_BY(mutex_) = kManyOpen;
  std::map<std::string, std::weak_ptr<const OpenedFile>> opened_ H5_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::shared_ptr<FileSet>> FileSet::open(const std::string& name, std::shared_ptr<SourceOpener> opener,
                                               const metadata::MetadataOptions& options) {
  auto set = std::make_shared<OpenFileSet>(std::move(opener), options);
  H5_TRY(set->open_main(name));
  return set;
}

Result<std::shared_ptr<FileSet>> FileSet::open(const std::string& path, const ExternalAccess& access,
                                               const metadata::MetadataOptions& options) {
  return open(path, make_local_opener(access, options.force), options);
}

Result<std::shared_ptr<FileSet>> FileSet::open(std::shared_ptr<io::ByteSource> source,
                                               const metadata::MetadataOptions& options) {
  auto set = std::make_shared<OpenFileSet>(make_no_opener(), options);
  H5_TRY(set->open_main(std::move(source)));
  return set;
}

}  // namespace h5mount::object
