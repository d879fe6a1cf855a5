// Directories are groups and arrays. In version 2 a group holds .zgroup and .zattrs, the root also
// .zmetadata, and an array .zarray, .zattrs and its chunks; in version 3 each directory has zarr.json.
#include "zarr_directory.h"

#include <fmt/format.h>

#include <array>

#include "../core/inode_numbers.h"
#include "../core/name_list.h"
#include "../objects/object_nodes.h"
#include "../views/view_nodes.h"
#include "followed_variable.h"
#include "h5mount/base/thread_annotations.h"
#include "zarr_store.h"

namespace h5mount::tree {

namespace {

// What a metadata file is of: an object and, if that is an array, the link by which it is shown, as its name
// is that of a dimension too.
struct Described {
  std::uint64_t object = 0;
  std::optional<ArrayPlace> place = {};
};

// A metadata file: its text is made at the first request, once for each snapshot of the file.
class ZarrTextNode : public Node {
 public:
  using Make = Status (*)(const ServedFilePtr&, const OpenedObject&, const ArrayPlace*, TreeText& out,
                          RequestBudget&);
  // `store`: the name of its directory.
  ZarrTextNode(ServedFilePtr file, Described of, std::string_view store, std::string_view name, Make make)
      : Node({file.get(), NodeKey::Kind::ViewFile, of.object, key_name(of, store, name)}),
        file_(std::move(file)),
        place_(std::move(of.place)),
        make_(make) {}

  Subject subject() const override { return {file_.get(), file_->path_of_object(key().address)}; }
  const FollowedFilePtr& read_from() const override { return file_->file()->followed; }
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
  struct State {
    explicit State(std::uint64_t read_from) : snapshot(read_from) {}
    const std::uint64_t snapshot;  // its number
    OnceValue<TreeTextPtr> text;
  };

  static std::string key_name(const Described& of, std::string_view store, std::string_view name) {
    if (!of.place) return fmt::format("{}/{}", store, name);
    return fmt::format("{}/{}/{:x}/{}", store, name, of.place->group->contents.address(), of.place->name);
  }

  Result<TreeTextPtr> text(RequestBudget& budget) {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(key().address, budget));
    const std::uint64_t snapshot = object->snapshot->number();
    std::shared_ptr<State> state;
    {
      const MutexLock lock(mutex_);
      if (!state_ || state_->snapshot != snapshot) state_ = std::make_shared<State>(snapshot);
      state = state_;
    }
    return state->text.get_once(
        [&]() -> Result<TreeTextPtr> {
          auto made = std::make_shared<TreeText>(file_->context());
          H5_TRY(make_(file_, *object, place_ ? &*place_ : nullptr, *made, budget));
          return made;
        },
        budget);
  }

  ServedFilePtr file_;
  std::optional<ArrayPlace> place_;
  Make make_;
  Mutex mutex_;
  std::shared_ptr<State> state_ H5_GUARDED_BY(mutex_);
};

struct MetadataFile {
  std::string_view name;
  ZarrTextNode::Make make;
};

const MetadataFile* find_file(std::span<const MetadataFile> files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &MetadataFile::name);
  return found == files.end() ? nullptr : &*found;
}

Status add_made(const Result<std::string>& made, TreeText& out) {
  if (!made) return fail(made.error());
  return out.append(*made);
}
Status group_text(const ServedFilePtr&, const OpenedObject&, const ArrayPlace*, TreeText& out,
                  RequestBudget&) {
  return out.append(zarr_group_text());
}
template <view::ZarrEncoding kEncoding>
Status attributes_text(const ServedFilePtr& file, const OpenedObject& object, const ArrayPlace* place,
                       TreeText& out, RequestBudget& budget) {
  return add_made(place != nullptr ? zarr_array_attributes_text(*file, object, *place, kEncoding, budget)
                                   : zarr_group_attributes_text(*file, object, kEncoding, budget),
                  out);
}
template <view::ZarrEncoding kEncoding>
Status array_text(const ServedFilePtr& file, const OpenedObject& dataset, const ArrayPlace*, TreeText& out,
                  RequestBudget& budget) {
  return add_made(zarr_array_text(*file, dataset, kEncoding, budget), out);
}
template <view::ZarrEncoding kEncoding>
Status consolidated_text(const ServedFilePtr& file, const OpenedObject&, const ArrayPlace*, TreeText& out,
                         RequestBudget& budget) {
  return zarr_consolidated_text(file, kEncoding, out, budget);
}
Status node3_text(const ServedFilePtr& file, const OpenedObject& object, const ArrayPlace* place,
                  TreeText& out, RequestBudget& budget) {
  return place != nullptr ? add_made(zarr3_array_text(*file, object, *place, budget), out)
                          : out.append(zarr3_group_text(*file, object, budget));
}
Status root3_text(const ServedFilePtr& file, const OpenedObject&, const ArrayPlace*, TreeText& out,
                  RequestBudget& budget) {
  return zarr3_root_text(file, out, budget);
}

// A store under /.h5, and the files of its metadata.
struct Store {
  view::ZarrStore shown;
  std::string (*encode_name)(std::string_view);
  std::span<const MetadataFile> of_array, of_group, of_root;
};
using StorePtr = std::shared_ptr<const Store>;

template <view::ZarrEncoding kEncoding>
struct Version2Files {
  static constexpr std::array of_array = {MetadataFile{".zarray", array_text<kEncoding>},
                                          MetadataFile{".zattrs", attributes_text<kEncoding>}};
  static constexpr std::array of_root = {MetadataFile{".zattrs", attributes_text<kEncoding>},
                                         MetadataFile{".zgroup", group_text},
                                         MetadataFile{".zmetadata", consolidated_text<kEncoding>}};
  static Store store(const view::ZarrStore& shown) {
    return {shown, encode_zarr_name, of_array, std::span(of_root).first(2), of_root};
  }
};
constexpr std::array kNode3 = {MetadataFile{"zarr.json", node3_text}};
constexpr std::array kRoot3 = {MetadataFile{"zarr.json", root3_text}};

Store store_of(const view::ZarrStore& shown) {
  switch (shown.encoding) {
    case view::ZarrEncoding::Stored:
      return Version2Files<view::ZarrEncoding::Stored>::store(shown);
    case view::ZarrEncoding::Version3:
      return {shown, encode_zarr3_name, kNode3, kNode3, kRoot3};
    case view::ZarrEncoding::Plain:
      break;
  }
  return Version2Files<view::ZarrEncoding::Plain>::store(shown);
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
  const FollowedFilePtr& read_from() const override { return file().file()->followed; }

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    return plain_stat(file(), NodeType::Directory, make_ino(file().ino_of(key().address), key().name));
  }

  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    if (const MetadataFile* found = find_file(store_->of_array, shown))
      return std::make_shared<ZarrTextNode>(dataset_->file(), Described{dataset_->address(), place_},
                                            store_->shown.name, found->name, found->make);
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

  Subject subject() const override { return {file().get(), file()->path_of_object(key().address)}; }
  const FollowedFilePtr& read_from() const override { return file()->file()->followed; }

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    return plain_stat(*file(), NodeType::Directory, make_ino(file()->ino_of(key().address), key().name));
  }

  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    if (const MetadataFile* found = find_file(files(), shown))
      return std::make_shared<ZarrTextNode>(file(), Described{key().address}, store_->shown.name, found->name,
                                            found->make);
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
