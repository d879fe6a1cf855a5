// Sources that were named one by one, side by side.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "../core/inode_numbers.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/forest.h"

namespace h5mount::tree {

namespace {

namespace fs = std::filesystem;

std::uint64_t time_in_nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// The user may name a file through a symlink.
Result<object::SourceEntry> look_at_named(const std::string& path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0)
    return errno == ENOENT || errno == ENOTDIR
               ? Result<object::SourceEntry>(fail({ErrorCode::NotFound, "no such file: " + path}))
               : fail(io_error(errno, "looking at " + path));
  object::SourceEntry out;
  out.kind = S_ISREG(st.st_mode) ? object::SourceEntry::Kind::File : object::SourceEntry::Kind::Other;
  out.attributes = {st.st_uid, st.st_gid, st.st_mode & 0777U, st.st_mtim.tv_sec};
  out.size = static_cast<std::uint64_t>(st.st_size);
  out.identity = mix_bits({st.st_dev, st.st_ino});
  out.stamp =
      mix_bits({out.identity, out.size, time_in_nanoseconds(st.st_mtim), time_in_nanoseconds(st.st_ctim)});
  return out;
}

class NamedSources final : public ForestDirectory, public std::enable_shared_from_this<NamedSources> {
 public:
  NamedSources(std::vector<NamedSource> sources, OpenNamed open)
      : sources_(std::move(sources)), open_(std::move(open)) {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const std::string last = fs::path(sources_[i].shown).filename().string();
      std::string name = last;
      unsigned& count = counts_[last];
      while (by_name_.contains(name)) name = last + " (" + std::to_string(++count + 1) + ")";
      by_name_.emplace(name, i);
      names_.push_back(std::move(name));
      std::error_code none;
      by_place_.emplace(fs::weakly_canonical(sources_[i].shown, none).string(), i);
    }
  }

  Result<Listing> list() const override {
    Listing out;
    for (const std::string& name : names_) out.items.push_back({name, NodeType::Directory});
    const auto is_file = [](const NamedSource& source) { return source.directory == nullptr; };
    out.files = static_cast<std::size_t>(std::ranges::count_if(sources_, is_file));
    return out;
  }

  Result<ForestEntry> find_entry(const std::string& name) const override {
    ForestEntry out;
    if (name.empty()) {
      out.source.kind = object::SourceEntry::Kind::Directory;
      out.source.attributes = {::geteuid(), ::getegid(), 0555, began_};
      out.source.identity = out.source.stamp = 1;
      return out;
    }
    H5_ASSIGN(const NamedSource* const source, find(name));
    if (source->directory) return source->directory->find_entry({});
    out.kind = ForestEntry::Kind::Hdf5;
    const auto found = look_at_named(source->path);
    // A set of files has no file of its name, and neither has a URL: their files are found when they are
    // opened.
    if (found)
      out.source = *found;
    else {
      out.source.attributes = {::geteuid(), ::getegid(), 0444, began_};
      out.source.identity = out.source.stamp = mix_bits(fnv1a(source->path));
    }
    return out;
  }

  Result<ForestDirectoryPtr> enter(const std::string& name) const override {
    H5_ASSIGN(const NamedSource* const source, find(name));
    return source->directory;
  }

  Result<std::shared_ptr<object::FileSet>> open(const std::string& name) const override {
    H5_ASSIGN(const NamedSource* const source, find(name));
    return open_(source->path);
  }

  Result<UniqueFd> watchable() const override {
    return fail({ErrorCode::UnsupportedFeature, "the sources lie in several directories"});
  }

  // Searches as libhdf5 does: for an absolute name as it is, then for its last component beside the file.
  std::optional<Shown> shown_at(const std::string& from, std::string_view stored) const override {
    const fs::path wanted(stored), beside(from);
    for (const fs::path& place : {beside / wanted, beside / wanted.filename()}) {
      std::error_code none;
      const auto found = by_place_.find(fs::weakly_canonical(place, none).string());
      if (found != by_place_.end() && !sources_[found->second].directory) {
        const std::string& name = names_[found->second];
        const auto entry = find_entry(name);
        if (entry) return Shown{name, shared_from_this(), name, entry->source.attributes};
      }
      if (!wanted.is_absolute()) break;
    }
    return std::nullopt;
  }

  std::string name() const override { return "the sources"; }

 private:
  Result<const NamedSource*> find(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return fail({ErrorCode::NotFound, "no such source"});
    return &sources_[found->second];
  }

  const std::vector<NamedSource> sources_;
  const OpenNamed open_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> by_name_, by_place_;
  std::unordered_map<std::string, unsigned> counts_;
  const std::int64_t began_ = std::time(nullptr);
};

}  // namespace

ForestDirectoryPtr make_named_sources(std::vector<NamedSource> sources, OpenNamed open) {
  return std::make_shared<NamedSources>(std::move(sources), std::move(open));
}

}  // namespace h5mount::tree
