// Files that a server lists as a part of a forest.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <iterator>
#include <map>
#include <unordered_set>

#include "../core/inode_numbers.h"
#include "h5mount/base/lru_cache.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/forest.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

using ListClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kHolds{60};
constexpr unsigned kNamesAPage = 1000;
constexpr std::size_t kMaxListedNames = 1'000'000, kMaxListedBytes = 128U << 20;  // of a directory
constexpr unsigned kMaxEmptyPages = 100;
constexpr std::size_t kMaxKeptBytes = 64U << 20;  // of all directories, and the one used last
constexpr std::size_t kMaxSingles = 1024;         // names that were asked for alone
constexpr unsigned kSinglesBeforeAll = 8;

struct ShownName {
  std::string name;  // as it is shown
  ListedName listed;
};

// All names of a directory that are shown, ordered by their shown names.
struct Level {
  std::string directory;
  std::vector<ShownName> names;
  ForestDirectory::LeftOut left_out = {};
  ListClock::time_point until = ListClock::now() + kHolds;

  const ShownName* find(std::string_view name) const {
    const auto at = std::ranges::lower_bound(names, name, {}, &ShownName::name);
    return at == names.end() || at->name != name ? nullptr : &*at;
  }
};
using LevelPtr = std::shared_ptr<const Level>;

std::size_t bytes_of(const ListedName& one) {
  return sizeof(ShownName) + 2 * one.name.size();
}

// A key may be a file and also the part of other keys before a '/': the file keeps the name, and the
// directory gets ` (2)`. `level` has files before directories of the same name. The work is that of sorting,
// however many names are equal.
void part_equal_names(Level& level) {
  std::vector<ShownName> moved;
  for (std::size_t i = 1; i < level.names.size(); ++i) {
    const ShownName &one = level.names[i], &before = level.names[i - 1];
    if (one.name == before.name && one.listed.directory && !before.listed.directory) moved.push_back(one);
  }
  const auto repeats = std::ranges::unique(level.names, {}, &ShownName::name);
  level.names.erase(repeats.begin(), repeats.end());
  std::unordered_set<std::string> given;
  for (ShownName& one : moved) {
    for (unsigned number = 2; level.find(one.name) != nullptr || given.contains(one.name); ++number)
      one.name = encode_name(one.listed.name, " (" + std::to_string(number) + ")");
    given.insert(one.name);
  }
  std::ranges::move(moved, std::back_inserter(level.names));
  if (!moved.empty()) std::ranges::sort(level.names, {}, &ShownName::name);
}

class ListedDirectory final : public ForestDirectory {
 public:
  struct Shared {
    const ListedFiles files;
    const std::int64_t began = std::time(nullptr);
    mutable LruCache<Level> levels{kMaxKeptBytes, 1};
  };

  ListedDirectory(std::shared_ptr<const Shared> shared, std::string directory)
      : shared_(std::move(shared)), directory_(std::move(directory)) {}

  Result<Listing> list() const override {
    H5_ASSIGN(const LevelPtr level, whole_level());
    Listing out;
    out.left_out = level->left_out;
    for (const ShownName& one : level->names) {
      const auto kind = kind_of(one.listed);
      out.items.push_back(
          {one.name, kind == ForestEntry::Kind::Plain ? NodeType::File : NodeType::Directory});
      if (kind != ForestEntry::Kind::Directory) ++out.files;
    }
    return out;
  }

  Result<ForestEntry> find_entry(const std::string& name) const override {
    if (name.empty()) return entry_of({{}, true, 0, 0, 0}, ForestEntry::Kind::Directory);
    H5_ASSIGN(const ListedName found, find(name));
    const auto kind = kind_of(found);
    if (!kind) return fail(not_there());
    return entry_of(found, *kind);
  }

  Result<ForestDirectoryPtr> enter(const std::string& name) const override {
    H5_ASSIGN(const ListedName found, find(name));
    return std::make_shared<ListedDirectory>(shared_, directory_ + found.name + "/");
  }

  Result<std::shared_ptr<object::FileSet>> open(const std::string& name) const override {
    H5_ASSIGN(const ListedName found, find(name));
    return shared_->files.open(directory_ + found.name);
  }

  Result<std::shared_ptr<io::ByteSource>> open_plain(const std::string& name) const override {
    H5_ASSIGN(const ListedName found, find(name));
    return shared_->files.open_plain(directory_ + found.name);
  }

  Result<UniqueFd> watchable() const override {
    return fail({ErrorCode::UnsupportedFeature, "a server does not tell changes"});
  }

  // Names lead only to files beneath this directory; of an absolute name the last component is used.
  std::optional<Shown> shown_at(const std::string&, std::string_view stored) const override {
    if (stored.starts_with('/')) stored.remove_prefix(stored.rfind('/') + 1);
    std::string out;
    for (ForestDirectoryPtr at = std::make_shared<ListedDirectory>(shared_, directory_);;) {
      const std::string_view part = stored.substr(0, stored.find('/'));
      stored.remove_prefix(part.size());
      if (part == "..") return std::nullopt;
      const std::string name = encode_name(part);
      const auto entry = part == "." ? at->find_entry({}) : at->find_entry(name);
      if (!entry) return std::nullopt;
      if (part != ".") out += (out.empty() ? "" : "/") + name;
      if (stored.empty()) {
        if (entry->kind != ForestEntry::Kind::Hdf5) return std::nullopt;
        return Shown{out, at, name, entry->source.attributes};
      }
      stored.remove_prefix(1);
      if (entry->kind != ForestEntry::Kind::Directory) return std::nullopt;
      const auto entered = part == "." ? Result<ForestDirectoryPtr>(at) : at->enter(name);
      if (!entered) return std::nullopt;
      at = *entered;
    }
  }

  std::string name() const override { return shared_->files.name + directory_; }

 private:
  static Error not_there() { return {ErrorCode::NotFound, "no such file is shown"}; }

  std::optional<ForestEntry::Kind> kind_of(const ListedName& one) const {
    if (one.directory) return ForestEntry::Kind::Directory;
    return one.name.empty() ? std::nullopt : shared_->files.shown.kind_of(one.name);
  }

  ForestEntry entry_of(const ListedName& one, ForestEntry::Kind kind) const {
    using SourceKind = object::SourceEntry::Kind;
    ForestEntry out;
    out.kind = kind;
    out.source.kind = one.directory ? SourceKind::Directory : SourceKind::File;
    out.source.attributes = {::geteuid(), ::getegid(), one.directory ? 0555U : 0444U,
                             one.directory ? shared_->began : one.modified};
    out.source.size = one.size;
    out.source.blocks = (one.size + 511) / 512;
    out.source.modified = out.source.attributes.mtime * 1'000'000'000;
    const std::uint64_t place = mix_bits(fnv1a(directory_ + one.name) + (one.directory ? 1 : 0));
    const std::uint64_t version = mix_bits(mix_bits(one.version ^ one.size) ^ std::uint64_t(one.modified));
    out.source.identity = out.source.stamp = std::max<std::uint64_t>(mix_bits(place ^ version), 1);
    return out;
  }

  // ---- all names

  LevelPtr kept_level() const {
    LevelPtr level = shared_->levels.find(fnv1a(directory_));
    return level && level->directory == directory_ && ListClock::now() < level->until ? level : nullptr;
  }

  Result<LevelPtr> whole_level() const {
    if (LevelPtr level = kept_level()) return level;
    return gather(~0U);
  }

  // Returns null if the names take more pages than that.
  Result<LevelPtr> gather(unsigned most_pages) const {
    auto level = std::make_shared<Level>();
    level->directory = directory_;
    std::string next;
    std::size_t bytes = sizeof(Level), seen = 0;
    unsigned empty = 0;
    for (unsigned pages = 1;; ++pages) {
      H5_ASSIGN(ListedPage page, shared_->files.list(directory_, {}, next, kNamesAPage));
      empty = page.names.empty() ? empty + 1 : 0;
      seen += page.names.size();
      for (ListedName& one : page.names) {
        if (!kind_of(one)) {
          if (!one.name.empty()) level->left_out.add(one.name);
          continue;
        }
        bytes += bytes_of(one);
        level->names.push_back({encode_name(one.name), std::move(one)});
      }
      if (seen > kMaxListedNames || bytes > kMaxListedBytes || empty > kMaxEmptyPages)
        return fail({ErrorCode::LimitExceeded,
                     name() + " has more names than can be shown at once: name a longer prefix"});
      if (page.next.empty()) return keep(std::move(level), bytes);
      if (pages == most_pages) return nullptr;
      next = std::move(page.next);
    }
  }

  LevelPtr keep(std::shared_ptr<Level> level, std::size_t bytes) const {
    std::ranges::sort(level->names, [](const ShownName& a, const ShownName& b) {
      return a.name != b.name ? a.name < b.name : a.listed.directory < b.listed.directory;
    });
    part_equal_names(*level);
    level->until = ListClock::now() + kHolds;
    shared_->levels.insert(fnv1a(directory_), level, bytes);
    return level;
  }

  // ---- one name

  Result<ListedName> find(const std::string& name) const {
    LevelPtr level = kept_level();
    const auto own = decode_name(name);
    const bool may_be_moved = name.ends_with(')');
    if (!level && (!own || may_be_cut(name) || may_be_moved)) {
      H5_ASSIGN(level, whole_level());
    }
    if (!level) {
      if (const auto known = known_single(name))
        return known->directory || !known->name.empty() ? Result<ListedName>(*known) : fail(not_there());
      H5_ASSIGN(level, level_for_many());
    }
    if (!level) return ask_alone(name, *own);
    const ShownName* const found = level->find(name);
    if (found == nullptr) return fail(not_there());
    return found->listed;
  }

  // When many names have been asked for one by one, all names are fetched, provided they take no more pages
  // than that many.
  Result<LevelPtr> level_for_many() const {
    const unsigned asked = ++singles_asked_;
    unsigned due = all_at_.load();
    if (asked < due || !all_at_.compare_exchange_strong(due, due * 2)) return LevelPtr();
    return gather(due);
  }

  Result<ListedName> ask_alone(const std::string& name, const std::string& own) const {
    ListedName out;
    if (shared_->files.shown.kind_of(own)) {
      H5_ASSIGN(ListedPage page, shared_->files.list(directory_, own, {}, 1));
      if (!page.names.empty() && page.names.front().name == own && !page.names.front().directory)
        out = std::move(page.names.front());
    }
    if (out.name.empty()) {
      H5_ASSIGN(const ListedPage page, shared_->files.list(directory_ + own + "/", {}, {}, 1));
      if (!page.names.empty()) out = {own, true, 0, 0, 0};
    }
    {
      const MutexLock lock(mutex_);
      if (singles_.size() >= kMaxSingles) singles_.clear();
      singles_[name] = {out, ListClock::now() + kHolds};
    }
    if (out.name.empty() && !out.directory) return fail(not_there());
    return out;
  }

  // Returns an empty name for one that is known not to exist; nullopt if nothing is known.
  std::optional<ListedName> known_single(const std::string& name) const {
    const MutexLock lock(mutex_);
    const auto found = singles_.find(name);
    if (found == singles_.end() || ListClock::now() >= found->second.until) return std::nullopt;
    return found->second.listed;
  }

  struct Single {
    ListedName listed;
    ListClock::time_point until;
  };
  const std::shared_ptr<const Shared> shared_;
  const std::string directory_;
  mutable std::atomic<unsigned> singles_asked_ = 0, all_at_ = kSinglesBeforeAll;
  mutable Mutex mutex_;
  mutable std::map<std::string, Single> singles_ H5_GUARDED_BY(mutex_);
};

}  // namespace

ForestDirectoryPtr make_listed_directory(ListedFiles files) {
  return std::make_shared<ListedDirectory>(std::make_shared<const ListedDirectory::Shared>(std::move(files)),
                                           std::string());
}

}  // namespace h5mount::tree
