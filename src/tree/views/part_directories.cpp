// /.h5/slice/PATH/SELECTION and /.h5/fields/PATH/MEMBER: parts of datasets as files. Both mirror the tree
// with a directory for each dataset that has parts. A name may end in the suffix of a view, which then shows
// the part; such names are not listed.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "../core/name_list.h"
#include "h5mount/base/limits.h"
#include "h5mount/tree/names.h"
#include "part_directories.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

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

constexpr std::string_view kSlices = "slice", kDecodedSlices = "decoded/slice";

bool has_elements(const object::DatasetDescription& dataset) {
  return dataset.space.kind != format::DataspaceKind::Null;
}

NodePtr make_slices_of(DatasetPtr dataset, std::string_view name, unsigned) {
  return std::make_shared<SliceDirectory>(std::move(dataset), std::string(name), name != kSlices);
}

class DecodedSlices final : public PartsMirror {
 public:
  DecodedSlices() : PartsMirror(kDecodedSlices, has_elements, make_slices_of) {}

  bool decodes() const override { return true; }
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
                                [](DatasetPtr dataset, std::string_view name, unsigned) -> NodePtr {
                                  return std::make_shared<FieldsDirectory>(
                                      std::move(dataset), std::string(name), std::vector<std::string>());
                                }));
}

}  // namespace h5mount::tree
