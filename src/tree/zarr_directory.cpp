// /.h5/plain.zarr: the file as a Zarr store of version 2. Directories are groups and arrays; a group holds
// .zgroup and .zattrs, the root .zmetadata as well; an array .zarray, .zattrs and its chunks.
#include <fmt/format.h>

#include <array>
#include <mutex>

#include "h5mount/object/list_damage.h"
#include "object_nodes.h"
#include "open_files.h"
#include "view_nodes.h"
#include "zarr_store.h"

namespace h5mount::tree {

namespace {

constexpr std::string_view kStore = "plain.zarr";

// A metadata file: its text is made when it is asked for, and once for one state of the file.
class ZarrTextNode : public Node {
 public:
  using Make = std::function<Result<std::string>(const ServedFilePtr&, const OpenedObject&)>;
  ZarrTextNode(ServedFilePtr file, std::uint64_t object, std::string_view name, Make make)
      : Node({file.get(), NodeKey::Kind::ViewFile, object, fmt::format("{}/{}", kStore, name)}),
        file_(std::move(file)),
        make_(std::move(make)) {}

  Subject subject() const override { return {file_.get(), file_->path_of_object(key().address)}; }
  Status revalidate() const override { return file_->metadata()->revalidate(); }

  Result<NodeStat> stat(StatDepth depth) override {
    const std::uint64_t ino = make_ino(make_ino(file_->ino_of(key().address), kStore), key().name);
    NodeStat stat = plain_stat(*file_, NodeType::File, ino);
    stat.complete = depth != StatDepth::Listing;
    if (!stat.complete) return stat;
    H5_ASSIGN(const auto made, text());
    set_size(stat, made->size());
    if (file_->metadata()->following()) stat.complete = false;
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open() override {
    H5_ASSIGN(auto made, text());
    return open_text(std::move(made));
  }

 private:
  using Text = std::shared_ptr<const std::string>;
  struct State {
    explicit State(std::uint64_t of) : generation(of) {}
    const std::uint64_t generation;
    OnceValue<Text> text;
  };

  Result<Text> text() {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(key().address));
    const std::uint64_t generation = file_->metadata()->generation();
    std::shared_ptr<State> state;
    {
      const std::lock_guard lock(mutex_);
      if (!state_ || state_->generation != generation) state_ = std::make_shared<State>(generation);
      state = state_;
    }
    return state->text.get([&]() -> Result<Text> {
      H5_ASSIGN(std::string made, make_(file_, *object));
      return std::make_shared<const std::string>(std::move(made));
    });
  }

  ServedFilePtr file_;
  Make make_;
  std::mutex mutex_;  // of what follows
  std::shared_ptr<State> state_;
};

class ZarrListing : public DirectoryListing {
 public:
  void add(std::string name, NodeType type) { items_.emplace_back(std::move(name), type); }
  void note(const Error& error) { noted_.note(error); }
  void close() { damage_ = noted_.error("groups and arrays"); }
  std::size_t size() const override { return items_.size(); }
  Item at(std::size_t position) const override {
    return {.name = items_[position].first, .type = items_[position].second};
  }
  const Error* damage() const override { return damage_ ? &*damage_ : nullptr; }

 private:
  std::vector<std::pair<std::string, NodeType>> items_;
  object::ListDamage noted_;
  std::optional<Error> damage_;
};

struct MetadataFile {
  std::string_view name;
  ZarrTextNode::Make make;
};

const MetadataFile* find_file(std::span<const MetadataFile> files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &MetadataFile::name);
  return found == files.end() ? nullptr : &*found;
}

const MetadataFile& attributes_file() {
  static const MetadataFile file{".zattrs", [](const ServedFilePtr& served, const OpenedObject& object) {
                                   return zarr_attributes_text(*served, object);
                                 }};
  return file;
}

const std::array<MetadataFile, 2>& array_files() {
  static const std::array<MetadataFile, 2> files = {
      MetadataFile{".zarray", [](const ServedFilePtr& served,
                                 const OpenedObject& object) { return zarr_array_text(*served, object); }},
      attributes_file()};
  return files;
}

std::span<const MetadataFile> group_files(bool root) {
  static const std::array<MetadataFile, 3> files = {
      MetadataFile{".zgroup", [](const ServedFilePtr&,
                                 const OpenedObject&) { return Result<std::string>(zarr_group_text()); }},
      attributes_file(), MetadataFile{".zmetadata", [](const ServedFilePtr& served, const OpenedObject&) {
                                        return zarr_consolidated_text(served);
                                      }}};
  return std::span(files).first(root ? 3 : 2);
}

// An array, one directory a link: a directory cannot have two places.
class ZarrArrayNode : public Node {
 public:
  ZarrArrayNode(const GroupContents& parent, const ZarrChild& child)
      : Node({parent.file().get(), NodeKey::Kind::ViewDirectory, parent.address(),
              fmt::format("{}/{}", kStore, child.link.name)}),
        file_(parent.file()),
        address_(child.object->object.address),
        place_{parent.address(), child.link.name},
        image_(std::make_shared<DatasetImage>(file_, address_, place_)) {}

  Subject subject() const override { return {file_.get(), file_->path_of(place_)}; }
  Status revalidate() const override { return file_->metadata()->revalidate(); }

  Result<NodeStat> stat(StatDepth) override {
    return plain_stat(*file_, NodeType::Directory, make_ino(file_->ino_of(key().address), key().name));
  }

  Result<NodePtr> child(std::string_view shown) override {
    if (const MetadataFile* file = find_file(array_files(), shown))
      return std::make_shared<ZarrTextNode>(file_, address_, file->name, file->make);
    H5_ASSIGN(const view::ZarrArray array, described());
    const auto number = array.chunk_number(shown);
    if (!number || *number >= array.chunk_count() || array.chunk_name(*number) != shown)
      return fail({ErrorCode::NotFound, "no such chunk"});
    // In a file that is followed each view learns by itself what became stale.
    auto image = image_->grows() ? std::make_shared<DatasetImage>(file_, address_, place_) : image_;
    return make_view_file(file_, address_, fmt::format("{}/{}", kStore, shown), std::move(image),
                          {&view::zarr_chunk_view(), view::derive_zarr_chunk(*number)});
  }

  Result<std::shared_ptr<const DirectoryListing>> list() override {
    H5_ASSIGN(view::ZarrArray array, described());
    if (array.chunk_count() > kMaxListedChunks)
      return fail({ErrorCode::LimitExceeded, "more chunks than a directory can list"});
    return std::make_shared<const ArrayListing>(std::move(array));
  }
  bool listing_lasts() const override { return !image_->grows(); }

 private:
  static constexpr std::uint64_t kMaxListedChunks = 1ULL << 32;

  // Names are made as they are asked for.
  class ArrayListing : public DirectoryListing {
   public:
    explicit ArrayListing(view::ZarrArray array) : array_(std::move(array)) {}
    std::size_t size() const override {
      return array_files().size() + static_cast<std::size_t>(array_.chunk_count());
    }
    Item at(std::size_t position) const override {
      if (position < array_files().size())
        return {.name = array_files()[position].name, .type = NodeType::File};
      thread_local std::array<std::string, 4> names;  // of the last items that this thread asked for
      thread_local std::size_t next = 0;
      std::string& name = names[next++ % names.size()];
      name = array_.chunk_name(position - array_files().size());
      return {.name = name, .type = NodeType::File};
    }

   private:
    view::ZarrArray array_;
  };

  Result<view::ZarrArray> described() {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(address_));
    H5_ASSIGN(const DatasetDescriptionPtr description, description_of(*file_, *object));
    return view::ZarrArray::of(*description);
  }

  ServedFilePtr file_;
  std::uint64_t address_;
  LinkPlace place_;
  std::shared_ptr<DatasetImage> image_;
};

class ZarrGroupNode : public Node {
 public:
  ZarrGroupNode(const ServedFilePtr& file, std::uint64_t group, unsigned depth)
      : Node({file.get(), NodeKey::Kind::ViewDirectory, group, std::string(kStore)}),
        contents_(file, group, depth) {}

  Subject subject() const override { return {file().get(), file()->path_of_object(key().address)}; }
  Status revalidate() const override { return file()->metadata()->revalidate(); }

  Result<NodeStat> stat(StatDepth) override {
    return plain_stat(*file(), NodeType::Directory, make_ino(file()->ino_of(key().address), key().name));
  }

  Result<NodePtr> child(std::string_view shown) override {
    if (const MetadataFile* found = find_file(files(), shown))
      return std::make_shared<ZarrTextNode>(file(), key().address, found->name, found->make);
    H5_ASSIGN(const ZarrChild child, find_zarr_child(contents_, shown));
    if (child.symlink)
      return make_symlink_node(
          {file().get(), NodeKey::Kind::Link, key().address, fmt::format("{}/{}", kStore, child.link.name)},
          file(), symlink_text(*child.symlink, encode_zarr_name));
    if (child.is_array()) return std::make_shared<ZarrArrayNode>(contents_, child);
    return std::make_shared<ZarrGroupNode>(file(), child.link.address, contents_.depth() + 1);
  }

  Result<std::shared_ptr<const DirectoryListing>> list() override {
    const auto out = std::make_shared<ZarrListing>();
    for (const MetadataFile& metadata : files()) out->add(std::string(metadata.name), NodeType::File);
    const auto each = [&](const ZarrChild& child) {
      out->add(child.shown, child.type());
      return Status();
    };
    H5_TRY(for_each_zarr_child(contents_, each, [&](const Error& error) { out->note(error); }));
    out->close();
    return out;
  }

 private:
  const ServedFilePtr& file() const { return contents_.file(); }
  std::span<const MetadataFile> files() const { return group_files(key().address == file()->root_address()); }

  GroupContents contents_;
};

}  // namespace

NodePtr make_plain_zarr_directory(const VirtualDirectorySetup& setup) {
  return std::make_shared<ZarrGroupNode>(setup.main, setup.main->root_address(), 0);
}

}  // namespace h5mount::tree
