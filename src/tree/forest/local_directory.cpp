// A directory of files as a part of a forest: which of its entries are shown, and as what.
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "h5mount/base/text.h"
#include "h5mount/io/notifies_changes.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/forest.h"

namespace h5mount::tree {

namespace {

using Kind = ForestEntry::Kind;
using SourceKind = object::SourceEntry::Kind;

// The extensions of HDF5 itself and of the libraries above it, then those that the formats of single fields
// have. The manual (MANY FILES) and the completions of shells have the same.
constexpr std::array<std::string_view, 50> kExtensions = {
    "h5",    "hdf5",    "hdf",    "hd5",    "he5",  "nc",    "nc4",  "nxs",  "nxspe",    "nwb",
    "mat",   "jld",     "jld2",   "keras",  "h5ad", "h5mu",  "loom", "biom", "h5seurat", "cool",
    "mcool", "fast5",   "mz5",    "mzmlb",  "slp",  "snirf", "sofa", "cgns", "med",      "h5m",
    "exo",   "vtkhdf",  "h5part", "athdf",  "phdf", "rhdf",  "ims",  "emd",  "hspy",     "mnc",
    "cxi",   "dream3d", "h5oina", "edaxh5", "oh5",  "kea",   "bag",  "ndf",  "geoh5",    "uvh5"};

std::string joined_below(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  return name.empty() ? std::string(directory) : std::string(directory) + "/" + std::string(name);
}

class LocalDirectory final : public ForestDirectory {
 public:
  struct Shared {
    std::shared_ptr<const object::SourceDirectory> top;
    ShownFiles shown;
    OpenBelow open;
  };

  LocalDirectory(std::shared_ptr<const Shared> shared, std::string below)
      : shared_(std::move(shared)), below_(std::move(below)) {}

  Result<Listing> list() const override {
    Listing out;
    const auto add = [&out](const std::string& name, Kind kind) {
      out.items.push_back({name, type_of(kind)});
      if (kind != Kind::Directory) ++out.files;
    };
    H5_TRY(top().for_each(below_, [&](std::string_view name, SourceKind kind) {
      const std::string own(name);
      // Any other entry is looked at: a symlink, a directory that may be a mount, and an entry whose type the
      // listing does not tell.
      if (kind == SourceKind::File) {
        const auto shown = file_kind(own);
        if (!shown) return out.left_out.add(own);
        add(own, *shown);
      } else if (const auto entry = find_entry(own)) {
        add(own, entry->kind);
      } else if (is_left_out(own)) {
        out.left_out.add(own);
      }
    }));
    std::ranges::sort(out.items, {}, &Item::name);
    return out;
  }

  Result<ForestEntry> find_entry(const std::string& name) const override {
    ForestEntry out;
    H5_ASSIGN(out.source, top().stat_entry(below_, name));
    switch (out.source.kind) {
      case SourceKind::Directory:
        return out;
      case SourceKind::File: {
        const auto shown = file_kind(name);
        if (!shown) break;
        out.kind = *shown;
        return out;
      }
      case SourceKind::Symlink:
        return look_at_link(name, std::move(out));
      case SourceKind::Other:
        break;
    }
    return fail(not_shown());
  }

  Result<ForestDirectoryPtr> enter(const std::string& name) const override {
    return std::make_shared<LocalDirectory>(shared_, joined_below(below_, name));
  }

  Result<std::shared_ptr<object::FileSet>> open(const std::string& name) const override {
    return shared_->open(shared_->top, joined_below(below_, name));
  }

  Result<std::shared_ptr<io::ByteSource>> open_plain(const std::string& name) const override {
    return top().open_source(joined_below(below_, name));
  }

  Result<UniqueFd> watchable() const override {
    H5_ASSIGN(UniqueFd fd, top().open_directory(below_));
    struct statfs place = {};
    if (::fstatfs(fd.get(), &place) != 0) return fail(io_error(errno, "asking for the type of " + name()));
    if (!io::notifies_changes(place))
      return fail({ErrorCode::UnsupportedFeature, "changes of a shared file system are not told"});
    return fd;
  }

  // Searches as libhdf5 does: for an absolute name as it is, then for its last component.
  std::optional<Shown> shown_at(const std::string& from, std::string_view stored) const override {
    const std::string& root = top().path();
    const bool within = from.starts_with(root) && (from.size() == root.size() || from[root.size()] == '/');
    const std::string place = within ? from.substr(std::min(root.size() + 1, from.size())) : below_;
    for (const std::string& wanted :
         {std::string(stored), std::filesystem::path(stored).filename().string()}) {
      if (wanted.empty()) continue;
      const auto found = top().resolve(place, wanted);
      if (found && shows_file(*found)) return shown(*found);
      if (!stored.starts_with('/')) break;
    }
    return std::nullopt;
  }

  std::string name() const override { return joined_below(top().path(), below_); }

 private:
  const object::SourceDirectory& top() const { return *shared_->top; }

  static Error not_shown() { return {ErrorCode::NotFound, "no such file is shown"}; }

  static NodeType type_of(Kind kind) {
    return kind == Kind::Directory || kind == Kind::Hdf5 ? NodeType::Directory
           : kind == Kind::Symlink                       ? NodeType::Symlink
                                                         : NodeType::File;
  }

  std::optional<Kind> file_kind(const std::string& name) const { return shared_->shown.kind_of(name); }

  // Whether an entry that is not shown is a file, or a symlink to one. The listing did not tell.
  bool is_left_out(const std::string& name) const {
    const auto entry = top().stat_entry(below_, name);
    return entry && (entry->kind == SourceKind::File || entry->kind == SourceKind::Symlink);
  }

  Result<object::SourceEntry> look_at(const std::string& path) const {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return top().stat_entry({}, path);
    return top().stat_entry(std::string_view(path).substr(0, slash), path.substr(slash + 1));
  }

  std::optional<Shown> shown(const std::string& path) const {
    const std::filesystem::path file(path);
    const auto entry = look_at(path);
    if (!entry) return std::nullopt;
    Shown out{relative_to_here(path), nullptr, file.filename().string(), entry->attributes};
    for (std::filesystem::path above = file.parent_path(); !above.empty(); above = above.parent_path()) {
      const auto directory = look_at(above.string());
      object::restrict_by_directory(out.attributes, directory ? &directory->attributes : nullptr);
    }
    out.in = std::make_shared<LocalDirectory>(shared_, file.parent_path().string());
    return out;
  }

  bool shows_file(const std::string& path) const {
    const auto entry = look_at(path);
    return entry && entry->kind == SourceKind::File &&
           file_kind(std::filesystem::path(path).filename().string()) == Kind::Hdf5;
  }

  // A symlink to something that is not shown is absent too; a symlink that leads nowhere is shown as Refused.
  Result<ForestEntry> look_at_link(const std::string& name, ForestEntry out) const {
    H5_ASSIGN(const std::string text, top().read_link(below_, name));
    const auto found = top().resolve(below_, text);
    if (!found) {
      out.kind = Kind::Refused;
      out.error = found.error();
      return out;
    }
    H5_ASSIGN(const object::SourceEntry target, look_at(*found));
    const bool shown =
        target.kind == SourceKind::Directory ||
        (target.kind == SourceKind::File && file_kind(std::filesystem::path(*found).filename().string()));
    if (!shown) return fail(not_shown());
    out.kind = Kind::Symlink;
    out.target = relative_to_here(*found);
    return out;
  }

  // "../b/c" for b/c of the top, seen from this directory.
  std::string relative_to_here(const std::string& path) const {
    const std::filesystem::path here = "/" + below_, there = "/" + path;
    std::string out = there.lexically_relative(here).string();
    while (out.size() > 1 && out.ends_with('/')) out.pop_back();
    return out;
  }

  const std::shared_ptr<const Shared> shared_;
  const std::string below_;  // path below the top; empty: the top
};

}  // namespace

std::optional<ForestEntry::Kind> ShownFiles::kind_of(const std::string& name) const {
  if (is_hdf5(name)) return Kind::Hdf5;
  return passthrough ? std::optional(Kind::Plain) : std::nullopt;
}

bool ShownFiles::is_hdf5(const std::string& name) const {
  if (!pattern.empty()) return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  return std::ranges::find(kExtensions, to_lower(name.substr(dot + 1))) != kExtensions.end();
}

ForestDirectoryPtr make_local_directory(std::shared_ptr<const object::SourceDirectory> top, ShownFiles shown,
                                        OpenBelow open) {
  return std::make_shared<LocalDirectory>(
      std::make_shared<const LocalDirectory::Shared>(
          LocalDirectory::Shared{std::move(top), std::move(shown), std::move(open)}),
      std::string());
}

}  // namespace h5mount::tree
