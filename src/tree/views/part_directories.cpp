// /.h5/slice/PATH/SELECTION and /.h5/fields/PATH/MEMBER: parts of datasets as files. Both mirror the tree
// with a directory for each dataset that has parts. A name may end in the suffix of a view, which then shows
// the part; such names are not listed.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "../core/inode_numbers.h"
#include "../core/name_list.h"
#include "../objects/decoded.h"
#include "../objects/element_links.h"
#include "../objects/followed_dataset.h"
#include "h5mount/base/limits.h"
#include "h5mount/tree/names.h"
#include "mirror.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

Error no_part() {
  return {ErrorCode::NotFound, "no such part of the dataset"};
}

// The dataset that the nodes of a directory share.
using DatasetPtr = std::shared_ptr<FollowedDataset>;

// `name` distinguishes the directory from others of the dataset's link.
class PartsDirectory : public Node {
 public:
  PartsDirectory(DatasetPtr dataset, std::string name)
      : Node({dataset->file().get(), NodeKey::Kind::ViewDirectory, dataset->place().group,
              fmt::format("/{}/{}", dataset->place().name, name)}),
        dataset_(std::move(dataset)),
        name_(std::move(name)) {}

  Subject subject() const override { return {&file(), file().path_of(dataset_->place())}; }

  bool follows() const override { return dataset_->follows(); }

  Result<NodeStat> stat(StatDepth, RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file().object(dataset_->address(), budget));
    NodeStat stat = object_stat(file(), object->object, NodeType::Directory);
    stat.nlink = 1;
    stat.ino = make_ino(file().ino_of(key().address), key().name);
    return stat;
  }

 protected:
  const DatasetPtr& dataset() const { return dataset_; }
  const std::string& name() const { return name_; }

  Result<DatasetDescriptionPtr> description(RequestBudget& budget) const {
    return dataset_->newest_description(budget, true);
  }

  Result<std::optional<meaning::Decoding>> decoding(RequestBudget& budget) const {
    H5_ASSIGN(const OpenedObjectPtr object, file().object(dataset_->address(), budget));
    return decoding_of_object(file(), *object, budget);
  }

  // Fails with NotFound if the view cannot show the part.
  Result<NodePtr> file_of(std::string name, ViewOf of, RequestBudget& budget) const {
    H5_ASSIGN(const DatasetDescriptionPtr described, description(budget));
    H5_ASSIGN(const object::DatasetDescription part, of.derivation->describe(*described));
    H5_ASSIGN(const std::optional<std::string> why, of.view->unfit(part, budget));
    if (why) return fail(no_part());
    return make_view_file(dataset_, std::move(name), std::move(of));
  }

 private:
  ServedFile& file() const { return *dataset_->file(); }

  DatasetPtr dataset_;
  std::string name_;
};

// Any selection can be looked up; the listing has the indices of the first dimension.
class SliceDirectory : public PartsDirectory {
 public:
  // `decoded`: of what conventions say that the elements mean.
  SliceDirectory(DatasetPtr dataset, const std::string& name, bool decoded)
      : PartsDirectory(std::move(dataset), name), decoded_(decoded) {}

  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    const view::View& view = view::view_by_suffix(shown);
    std::string selection(shown.substr(0, shown.size() - view.suffix.size()));
    ViewOf of{&view, view::derive_selection(std::move(selection)), {}};
    if (decoded_) {
      H5_ASSIGN(auto decoding, decoding(budget));
      if (decoding) {
        // Selected elements are decoded as all are, where their values are as many.
        H5_ASSIGN(const DatasetDescriptionPtr described, description(budget));
        if (decoding->changes_shape)
          of.derivation = view::derive_both(decoding->derivations[0], std::move(of.derivation));
        H5_ASSIGN(const object::DatasetDescription part, of.derivation->describe(*described));
        if (decoding->bytes_are_lines && view.suffix.empty()) of.view = &view::text_view();
        if (auto then = decoding->changes_shape ? nullptr : decoding->derivation(part, of.view->shown_as))
          of.derivation = view::derive_both(std::move(of.derivation), std::move(then));
        of.decoded = std::move(decoding->text);
      }
    }
    return file_of(fmt::format("{}/{}", name(), shown), std::move(of), budget);
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    H5_ASSIGN(const DatasetDescriptionPtr described, description(budget));
    auto out = std::make_shared<NameList>();
    std::vector<std::uint64_t> dims = described->space.dims;
    if (decoded_) {
      H5_ASSIGN(const auto decoding, decoding(budget));
      if (decoding && decoding->changes_shape) {
        H5_ASSIGN(const object::DatasetDescription values, decoding->derivations[0]->describe(*described));
        dims = values.space.dims;
      }
    }
    const std::uint64_t count = dims.empty() ? 0 : std::min(dims[0], limits::kMaxListedSlices);
    for (std::uint64_t i = 0; i < count; ++i) out->add(fmt::format("{}", i), NodeType::File);
    return out;
  }

 private:
  const bool decoded_;
};

// Each member is a file; a compound member is a directory of its own members.
class FieldsDirectory : public PartsDirectory {
 public:
  FieldsDirectory(DatasetPtr dataset, const std::string& name, std::vector<std::string> path)
      : PartsDirectory(std::move(dataset), name), path_(std::move(path)) {}

  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    H5_ASSIGN(const std::vector<Shown> all, members(budget));
    if (const Shown* member = find(all, shown)) {
      if (member->is_directory)
        return std::make_shared<FieldsDirectory>(dataset(), fmt::format("{}/{}", name(), shown),
                                                 path_to(*member));
      return member_file(shown, *member, view::view_by_suffix(""), budget);
    }
    const view::View& view = view::view_by_suffix(shown);
    const Shown* member = find(all, shown.substr(0, shown.size() - view.suffix.size()));
    if (member == nullptr) return fail(no_part());
    return member_file(shown, *member, view, budget);
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    H5_ASSIGN(const std::vector<Shown> all, members(budget));
    auto out = std::make_shared<NameList>();
    for (const Shown& member : all)
      out->add(member.shown, member.is_directory ? NodeType::Directory : NodeType::File);
    return out;
  }

 private:
  struct Shown {
    std::string shown, name;
    bool is_directory;
  };

  // The first of several members with the same name, which only damaged types have.
  Result<std::vector<Shown>> members(RequestBudget& budget) const {
    H5_ASSIGN(const DatasetDescriptionPtr described, description(budget));
    H5_ASSIGN(const object::DatasetDescription part, view::derive_member(path_)->describe(*described));
    std::vector<Shown> out;
    std::unordered_set<std::string_view> seen;
    UniqueNames unique;
    for (const format::CompoundMember& member : part.type->members)
      if (seen.insert(member.name).second)
        out.push_back({unique.add(member.name, encode_name(member.name)), member.name,
                       member.type->cls == format::DatatypeClass::Compound});
    return out;
  }

  static const Shown* find(const std::vector<Shown>& all, std::string_view shown) {
    const auto found = std::ranges::find(all, shown, &Shown::shown);
    return found == all.end() ? nullptr : &*found;
  }

  std::vector<std::string> path_to(const Shown& member) const {
    std::vector<std::string> path = path_;
    path.push_back(member.name);
    return path;
  }

  Result<NodePtr> member_file(std::string_view shown, const Shown& member, const view::View& view,
                              RequestBudget& budget) const {
    return file_of(fmt::format("{}/{}", name(), shown), {&view, view::derive_member(path_to(member))},
                   budget);
  }

  std::vector<std::string> path_;
};

// Has a directory for each dataset that has such parts.
class PartsMirror : public Mirror {
 public:
  using HasParts = bool (*)(const object::DatasetDescription&);
  using MakeDirectory = NodePtr (*)(DatasetPtr dataset, std::string_view name);
  PartsMirror(std::string_view name, HasParts has_parts, MakeDirectory make)
      : name_(name), has_parts_(has_parts), make_(make) {}

  std::string_view name() const override { return name_; }
  NodeType entry_type() const override { return NodeType::Directory; }

  Status for_each_part(ServedFile& file, const OpenedObject& object, RequestBudget&,
                       const std::function<void(std::string)>& each) const override {
    if (object.object.kind != object::ObjectKind::Dataset) return {};
    H5_ASSIGN(const DatasetDescriptionPtr described, viewed_description_of(file, object));
    if (described && has_parts_(*described)) each({});
    return {};
  }

  Result<NodePtr> make_node(const GroupContents& group, const format::Link& link, const std::string&,
                            RequestBudget&) const override {
    return make_(std::make_shared<FollowedDataset>(group.file(), link.address, group.place_of(link)), name_);
  }

 private:
  std::string_view name_;
  HasParts has_parts_;
  MakeDirectory make_;
};

constexpr std::string_view kSlices = "slice", kDecodedSlices = "decoded/slice";

bool has_elements(const object::DatasetDescription& dataset) {
  return dataset.space.kind != format::DataspaceKind::Null;
}

NodePtr make_slices_of(DatasetPtr dataset, std::string_view name) {
  return std::make_shared<SliceDirectory>(std::move(dataset), std::string(name), name != kSlices);
}

class DecodedSlices final : public PartsMirror {
 public:
  DecodedSlices() : PartsMirror(kDecodedSlices, has_elements, make_slices_of) {}

  Result<ElementLinksPtr> elements_of(ServedFile& file, const OpenedObject& object,
                                      RequestBudget& budget) const override {
    return matlab_elements(file, object, budget);
  }
  Result<bool> hides(const GroupContents& group, const format::Link& link,
                     RequestBudget& budget) const override {
    return is_kept_beside(group, link, budget);
  }
};

}  // namespace

NodePtr make_slice_directory(const VirtualDirectorySetup& setup) {
  return make_mirror(setup, std::make_shared<PartsMirror>(kSlices, has_elements, make_slices_of));
}

NodePtr make_decoded_slice_directory(const VirtualDirectorySetup& setup) {
  return make_mirror(setup, std::make_shared<DecodedSlices>());
}

NodePtr make_fields_directory(const VirtualDirectorySetup& setup) {
  return make_mirror(setup, std::make_shared<PartsMirror>(
                                "fields",
                                [](const object::DatasetDescription& d) {
                                  return d.type->cls == format::DatatypeClass::Compound;
                                },
                                [](DatasetPtr dataset, std::string_view name) -> NodePtr {
                                  return std::make_shared<FieldsDirectory>(
                                      std::move(dataset), std::string(name), std::vector<std::string>());
                                }));
}

}  // namespace h5mount::tree
