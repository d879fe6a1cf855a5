// Directories are groups and arrays. In version 2 a group holds .zgroup and .zattrs, the root also
// .zmetadata, and an array .zarray, .zattrs and its chunks; in version 3 each directory has zarr.json.

#include <fmt/format.h>

#include <array>

#include "../core/inode_numbers.h"
#include "../core/name_list.h"
#include "../core/states.h"
#include "../objects/object_nodes.h"
#include "../views/virtual_directories.h"
#include "followed_variable.h"
#include "zarr_store.h"

namespace h5mount::tree {

namespace {

// The subject of a metadata file: an object and, if that is an array, the link by which it is shown, as its
// name is that of a dimension too.
struct Described {
  std::uint64_t object = 0;
  std::optional<ArrayPlace> place = {};
};

// A metadata file: its text is made at the first request, once for each snapshot of the file.
class ZarrTextNode : public Node {
 public:
  using Append = Status (*)(const ZarrSubject&, TreeText& out, RequestBudget&);
  ZarrTextNode(ServedFilePtr file, Described of, const view::ZarrStore& store, std::string_view name,
               Append append)
      : Node({file.get(), NodeKey::Kind::ViewFile, of.object, key_name(of, store.name, name)}),
        file_(std::move(file)),
        place_(std::move(of.place)),
        encoding_(store.encoding),
        append_(append) {}

  std::string_view media_type() const override { return "application/json"; }

  // The shape of a virtual dataset may be that of its sources.
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(key().address, budget));
    NodeSource out = file_->as_source();
    if (object->object.kind == object::ObjectKind::Dataset) {
      H5_ASSIGN(const DatasetDescriptionPtr description, known_description_of(*file_, *object));
      out.all_in_file = description->layout.cls != format::LayoutClass::Virtual;
    }
    return std::vector{std::move(out)};
  }

  Result<NodeStat> stat(StatDepth depth, RequestBudget& budget) override {
    const std::uint64_t ino = make_ino(make_ino(file_->ino_of(key().address), "zarr"), key().name);
    NodeStat stat = plain_stat(*file_, NodeType::File, ino);
    stat.complete = depth != StatDepth::Listing;
    if (!stat.complete) return stat;
    H5_ASSIGN(const auto made, text(budget));
    set_size(stat, made->size());
    if (file_->followed().following()) stat.complete = false;
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget& budget) override {
    H5_ASSIGN(auto made, text(budget));
    return open_tree_text(std::move(made), true);
  }

 private:
  static std::string key_name(const Described& of, std::string_view store, std::string_view name) {
    if (!of.place) return fmt::format("{}/{}", store, name);
    return fmt::format("{}/{}/{:x}/{}", store, name, of.place->group->contents.address(), of.place->name);
  }

  Result<TreeTextPtr> text(RequestBudget& budget) {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(key().address, budget));
    const auto make = [&]() -> Result<TreeTextPtr> {
      auto made = std::make_shared<TreeText>(file_->context());
      H5_TRY(append_({file_, *object, place_ ? &*place_ : nullptr, encoding_}, *made, budget));
      return made;
    };
    return text_.get_once(object->snapshot->number(), make, budget);
  }

  ServedFilePtr file_;
  std::optional<ArrayPlace> place_;
  const view::ZarrEncoding encoding_;
  const Append append_;
  SnapshotValue<TreeTextPtr> text_;
};

struct MetadataFile {
  std::string_view name;
  ZarrTextNode::Append append;
};

const MetadataFile* find_file(std::span<const MetadataFile> files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &MetadataFile::name);
  return found == files.end() ? nullptr : &*found;
}

// A store under /.h5, and the files of its metadata.
struct Store {
  view::ZarrStore shown;
  std::string (*encode_name)(std::string_view);
  std::span<const MetadataFile> of_array, of_group, of_root;
};
using StorePtr = std::shared_ptr<const Store>;

constexpr std::array kArray2 = {MetadataFile{".zarray", append_zarray},
                                MetadataFile{".zattrs", append_zattrs}};
constexpr std::array kRoot2 = {MetadataFile{".zattrs", append_zattrs}, MetadataFile{".zgroup", append_zgroup},
                               MetadataFile{".zmetadata", append_zmetadata}};
constexpr std::array kNode3 = {MetadataFile{"zarr.json", append_zarr_json}};
constexpr std::array kRoot3 = {MetadataFile{"zarr.json", append_root_zarr_json}};

Store store_of(const view::ZarrStore& shown) {
  if (shown.encoding == view::ZarrEncoding::Version3)
    return {shown, encode_zarr3_name, kNode3, kNode3, kRoot3};
  return {shown, encode_zarr_name, kArray2, std::span(kRoot2).first(2), kRoot2};
}

// An array has a directory of its own for each link: a directory cannot have two paths.
class ZarrArrayNode : public Node {
 public:
  ZarrArrayNode(const StorePtr& store, const StoreGroupPtr& parent, const ZarrChild& child)
      : Node({parent->contents.file().get(), NodeKey::Kind::ViewDirectory, parent->contents.address(),
              fmt::format("{}/{}", store->shown.name, child.link.name)}),
        store_(store),
        place_{parent, child.own_name},
        dataset_(std::make_shared<FollowedVariable>(parent->contents.file(), child.object->object.address,
                                                    LinkPlace{parent->contents.address(), child.link.name})) {
  }

  Subject subject() const override { return {&file(), file().path_of(dataset_->place())}; }

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    return plain_stat(file(), NodeType::Directory, make_ino(file().ino_of(key().address), key().name));
  }

  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    if (const MetadataFile* found = find_file(store_->of_array, shown))
      return std::make_shared<ZarrTextNode>(dataset_->file(), Described{dataset_->address(), place_},
                                            store_->shown, found->name, found->append);
    H5_ASSIGN(const view::ZarrArray array, described(budget));
    const auto number = array.chunk_number(shown);
    if (!number || *number >= array.chunk_count() || array.chunk_name(*number) != shown)
      return fail({ErrorCode::NotFound, "no such chunk"});
    return make_view_file(dataset_, fmt::format("{}/{}", store_->shown.name, shown),
                          {&view::zarr_chunk_view(store_->shown.encoding),
                           view::derive_zarr_chunk(*number, store_->shown.encoding)});
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    H5_ASSIGN(view::ZarrArray array, described(budget));
    if (array.chunk_count() > limits::kMaxListedChunks)
      return fail({ErrorCode::LimitExceeded, "more chunks than a directory can list"});
    return std::make_shared<const ArrayListing>(*store_, std::move(array));
  }
  bool lasts() const override { return !dataset_->grows(); }
  bool follows() const override { return dataset_->follows(); }

 private:
  // Computes names on demand.
  class ArrayListing : public DirectoryListing {
   public:
    ArrayListing(const Store& store, view::ZarrArray array)
        : files_(store.of_array), array_(std::move(array)) {}
    std::size_t size() const override {
      return files_.size() + static_cast<std::size_t>(array_.chunk_count());
    }
    Item at(std::size_t position, std::string& made) const override {
      if (position < files_.size()) return {.name = files_[position].name, .type = NodeType::File};
      made = array_.chunk_name(position - files_.size());
      return {.name = made, .type = NodeType::File};
    }

   private:
    std::span<const MetadataFile> files_;
    view::ZarrArray array_;
  };

  Result<view::ZarrArray> described(RequestBudget& budget) {
    H5_ASSIGN(const DatasetDescriptionPtr description, dataset_->newest_description(budget, true));
    return view::ZarrArray::of(*description, store_->shown.encoding);
  }

  ServedFile& file() const { return *dataset_->file(); }

  const StorePtr store_;
  const ArrayPlace place_;
  const std::shared_ptr<FollowedVariable> dataset_;
};

class ZarrGroupNode : public Node {
 public:
  ZarrGroupNode(const StorePtr& store, const StoreGroupPtr& place)
      : Node({place->contents.file().get(), NodeKey::Kind::ViewDirectory, place->contents.address(),
              std::string(store->shown.name)}),
        store_(store),
        place_(place) {}

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    return plain_stat(*file(), NodeType::Directory, make_ino(file()->ino_of(key().address), key().name));
  }

  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    if (const MetadataFile* found = find_file(files(), shown))
      return std::make_shared<ZarrTextNode>(file(), Described{key().address}, store_->shown, found->name,
                                            found->append);
    H5_ASSIGN(const ZarrChild child,
              find_zarr_child(place_->contents, store_->shown.encoding, shown, budget));
    if (child.symlink)
      return make_symlink_node({file().get(), NodeKey::Kind::Link, key().address,
                                fmt::format("{}/{}", store_->shown.name, child.link.name)},
                               file(), symlink_text(*child.symlink, store_->encode_name));
    if (child.is_array()) return std::make_shared<ZarrArrayNode>(store_, place_, child);
    return std::make_shared<ZarrGroupNode>(store_, group_in(place_, child.link.address));
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    auto out = std::make_shared<NameList>();
    for (const MetadataFile& metadata : files()) out->add(std::string(metadata.name), NodeType::File);
    const auto each = [&](const ZarrChild& child) {
      out->add(child.shown, child.type());
      return Status();
    };
    ZarrOmissions omissions;
    H5_TRY(for_each_zarr_child(place_->contents, store_->shown.encoding, each, &omissions, budget));
    out->set_damage(std::move(omissions.damage));
    out->set_left_out(std::move(omissions.objects));
    return out;
  }

 private:
  const ServedFilePtr& file() const { return place_->contents.file(); }
  std::span<const MetadataFile> files() const {
    return key().address == file()->root_address() ? store_->of_root : store_->of_group;
  }

  StorePtr store_;
  StoreGroupPtr place_;
};

}  // namespace

NodePtr make_zarr_directory(const VirtualDirectorySetup& setup, const view::ZarrStore& store) {
  return std::make_shared<ZarrGroupNode>(std::make_shared<const Store>(store_of(store)), root_of(setup.main));
}

}  // namespace h5mount::tree
