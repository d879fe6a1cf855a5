#include "damage/file_state.h"

#include <algorithm>
#include <cstdlib>

#include "h5mount/cache/worker_pool.h"
#include "h5mount/tree/tree.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kMaxNodes = 20'000;
constexpr std::uint64_t kMaxBytesPerFile = 4U << 20;  // of a longer one its two ends
constexpr std::uint64_t kMaxBytes = 256U << 20;

std::uint64_t add_hash(std::uint64_t hash, std::string_view bytes) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3U;
  return hash;
}
constexpr std::uint64_t kEmptyHash = 0xCBF2'9CE4'8422'2325U;

std::shared_ptr<cache::WorkerPool> workers() {
  static const auto pool = std::make_shared<cache::WorkerPool>(1);
  return pool;
}

class Walk {
 public:
  Walk(tree::Tree& tree, std::uint64_t base, FileState& out) : tree_(tree), base_(base), out_(out) {}

  void run() {
    waiting_.push_back({tree::kRootNode, ""});
    while (!waiting_.empty() && nodes_ < kMaxNodes && bytes_ < kMaxBytes) {
      const Place next = std::move(waiting_.back());
      waiting_.pop_back();
      ++nodes_;
      visit(next);
      if (next.node != tree::kRootNode) tree_.forget(next.node, 1);
    }
    out_.complete = waiting_.empty();
  }

 private:
  struct Place {
    tree::NodeId node;
    std::string path;
  };

  template <class T>
  bool ok(const Result<T>& result, const std::string& operation, const Place& place) {
    if (!result) out_.errors.insert(operation + " " + place.path);
    return result.has_value();
  }

  void visit(const Place& place) {
    EntryState& entry = out_.entries[place.path];
    const auto stat = tree_.stat(place.node, tree::StatDepth::Full);
    if (!ok(stat, "stat", place)) return;
    entry.bytes = stat->size;
    attributes(place, entry);
    switch (stat->type) {
      case tree::NodeType::Directory:
        return directory(place, entry);
      case tree::NodeType::Symlink:
        return symlink(place, entry);
      case tree::NodeType::File:
        return file(place, entry);
    }
  }

  void attributes(const Place& place, EntryState& entry) {
    const auto names = tree_.list_xattrs(place.node);
    if (!ok(names, "listxattr", place)) return;
    for (const std::string& name : *names) {
      const auto value = tree_.get_xattr(place.node, name);
      // What is not an extended attribute by its length is not copied as one.
      if (!value && value.error().code() == ErrorCode::TooLarge) continue;
      if (!ok(value, "getxattr " + name, place)) continue;
      if (name == "user.hdf5.address") out_.headers.insert(base_ + std::strtoull(value->c_str(), nullptr, 0));
      if (!name.starts_with("user.hdf5.")) entry.attributes[name] = add_hash(kEmptyHash, *value);
    }
  }

  void directory(const Place& place, EntryState& entry) {
    entry.type = 'd';
    entry.bytes = 0;
    const auto listing = tree_.open_directory(place.node);
    if (!ok(listing, "opendir", place)) return;
    for (std::size_t i = 0; i < (*listing)->size() && waiting_.size() < kMaxNodes; ++i) {
      const std::string name = (*listing)->name_at(i);
      Place child{0, place.path + "/" + name};
      const auto found = tree_.lookup(place.node, name);
      out_.entries[child.path];
      if (!ok(found, "lookup", child)) continue;
      child.node = found->node;
      waiting_.push_back(std::move(child));
    }
    if ((*listing)->damage() != nullptr) out_.errors.insert("readdir " + place.path);
  }

  void symlink(const Place& place, EntryState& entry) {
    entry.type = 'l';
    const auto text = tree_.readlink(place.node);
    if (ok(text, "readlink", place)) entry.content = add_hash(kEmptyHash, *text);
  }

  void file(const Place& place, EntryState& entry) {
    entry.type = 'f';
    entry.content = kEmptyHash;
    const auto open = tree_.open(place.node);
    if (!ok(open, "open", place)) return;
    const std::uint64_t half = kMaxBytesPerFile / 2;
    const std::uint64_t head = entry.bytes <= kMaxBytesPerFile ? entry.bytes : half;
    read(place, **open, 0, head, entry);
    if (head < entry.bytes) read(place, **open, entry.bytes - half, half, entry);
  }

  void read(const Place& place, tree::OpenNode& open, std::uint64_t offset, std::uint64_t length,
            EntryState& entry) {
    constexpr std::uint64_t kRequest = 128U << 10;
    for (std::uint64_t done = 0; done < length; done += kRequest) {
      dataset::Pieces pieces;
      const Status got = open.read(offset + done, std::min(kRequest, length - done), pieces);
      if (!ok(got, "read", place)) return;
      for (const dataset::Piece& piece : pieces.list())
        entry.content = add_hash(entry.content, as_text(piece.bytes));
      bytes_ += pieces.total();
    }
  }

  tree::Tree& tree_;
  std::uint64_t base_;
  FileState& out_;
  std::vector<Place> waiting_;
  std::uint64_t nodes_ = 0, bytes_ = 0;
};

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::size_t children_of(const FileState& state, const std::string& directory) {
  return static_cast<std::size_t>(std::ranges::count_if(state.entries, [&](const auto& entry) {
    return !entry.first.empty() && parent_of(entry.first) == directory;
  }));
}

}  // namespace

FileState read_file_state(std::shared_ptr<io::ByteSource> source) {
  FileState out;
  auto files = object::FileSet::open(std::move(source), metadata::MetadataOptions{.force = true});
  if (!files) return out;
  const std::uint64_t base = (*files)->main()->followed->base_address();
  const auto tree = tree::Tree::make(
      dataset::ReadEnvironment{std::make_shared<cache::BlockCache>(32U << 20), workers(), *std::move(files)},
      {});
  if (!tree) return out;
  out.opened = true;
  Walk(**tree, base, out).run();
  return out;
}

const char* loss_name(Loss loss) {
  switch (loss) {
    case Loss::None:
      return "none";
    case Loss::Name:
      return "name lost";
    case Loss::Attribute:
      return "attribute lost";
    case Loss::Renamed:
      return "name changed";
    case Loss::Changed:
      return "bytes changed";
  }
  return "";
}

SilentLoss silent_loss(const FileState& intact, const FileState& damaged) {
  if (!damaged.opened || !std::ranges::includes(intact.errors, damaged.errors)) return {};
  SilentLoss worst;
  const auto note = [&](Loss loss, const std::string& what) {
    if (worst.loss == Loss::None || loss < worst.loss) worst = {loss, what};
  };
  for (const auto& [path, entry] : intact.entries) {
    const auto found = damaged.entries.find(path);
    if (found == damaged.entries.end()) {
      const std::string above = parent_of(path);
      if (!above.empty() && !damaged.entries.contains(above)) continue;  // counted for the directory above
      const bool same_count = children_of(intact, above) == children_of(damaged, above);
      note(same_count ? Loss::Renamed : Loss::Name, path);
      continue;
    }
    const EntryState& now = found->second;
    if (now.type != entry.type || now.bytes != entry.bytes || now.content != entry.content)
      note(Loss::Changed, path);
    const bool fewer = now.attributes.size() < entry.attributes.size();
    for (const auto& [name, value] : entry.attributes) {
      const auto kept = now.attributes.find(name);
      if (kept == now.attributes.end())
        note(fewer ? Loss::Attribute : Loss::Renamed, path + "@" + name);
      else if (kept->second != value)
        note(Loss::Changed, path + "@" + name);
    }
  }
  return worst;
}

}  // namespace h5mount::test
