// /.h5/decoded: the views of what conventions say that elements mean (meaning/decoding.h), each in a mirror
// of its own. A dataset that no convention speaks of is there as in the plain view.
#include <fmt/format.h>

#include <algorithm>

#include "../objects/decoded.h"
#include "grid_columns.h"
#include "group_table.h"
#include "h5mount/tree/names.h"
#include "view_mirror.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

constexpr char kGridMark = '@';  // before the dimensions of a grid

class DecodedMirror final : public ViewMirror {
 public:
  // `name`: of its directory.
  DecodedMirror(const view::View& view, std::string_view name)
      : ViewMirror(view), name_(fmt::format("decoded/{}", name)) {}

  std::string_view name() const override { return name_; }
  bool decodes() const override { return true; }

  // A group with several grids has a table of each, GROUP@dimensions, and the root group has no name.
  std::string encode(const MirrorEntry& entry) const override {
    if (entry.part.empty()) return Mirror::encode(entry);
    std::string name = entry.link.value_or("");
    name.append(entry.part, 0, entry.part.size() - suffix().size());
    return encode_name(name.empty() && !entry.link ? std::string(1, kGridMark) : name, suffix());
  }
  std::vector<MirrorEntry> other_entries(std::string_view shown) const override {
    std::vector<MirrorEntry> out;
    if (!shown.ends_with(suffix())) return out;
    shown.remove_suffix(suffix().size());
    const std::optional<std::string> name = decode_name(shown);
    for (std::size_t at = 0; name && (at = name->find(kGridMark, at)) != std::string::npos; ++at) {
      MirrorEntry entry{std::nullopt, name->substr(at).append(suffix())};
      if (at > 0) entry.link = name->substr(0, at);
      if (name->size() == 1) entry.part = suffix();
      out.push_back(std::move(entry));
    }
    return out;
  }

  Status for_each_part(ServedFile& file, const OpenedObject& object, RequestBudget& budget,
                       const std::function<void(std::string)>& each) const override {
    if (object.object.kind == object::ObjectKind::Group && view().of_groups) {
      H5_ASSIGN(const auto stated, table_of_object(file, object, view().shown_as, budget));
      const TableForm form{.decoded = true, .shown_as = view().shown_as};
      std::vector<NamedGrid> grids;
      if (!stated) {
        H5_ASSIGN(grids, grids_of_group(file, object, form, budget));
      }
      for (std::size_t i = 0; grids.size() > 1 && i < grids.size(); ++i) {
        H5_ASSIGN(const DatasetDescriptionPtr grid, describe_found(file, object, form, grids[i].found));
        H5_ASSIGN(const view::Reason why, view().unfit(*grid, budget));
        if (!why) each(fmt::format("{}{}{}", kGridMark, grids[i].names, suffix()));
      }
      if (grids.size() > 1) return {};
    }
    return ViewMirror::for_each_part(file, object, budget, each);
  }
  Status find_part(ServedFile& file, const OpenedObject& object, const std::string& part,
                   RequestBudget& budget) const override {
    if (!part.starts_with(kGridMark)) return ViewMirror::find_part(file, object, part, budget);
    return check_part(file, object, part, budget);
  }

 private:
  Result<ViewOf> view_of(ServedFile& file, const OpenedObject& object, const std::optional<TableForm>& table,
                         RequestBudget& budget) const override {
    ViewOf out{&view(), nullptr, {}};
    if (table || object.object.kind != object::ObjectKind::Dataset) return out;
    H5_ASSIGN(auto decoding, decoding_of_object(file, object, budget));
    if (!decoding) return out;
    H5_ASSIGN(const DatasetDescriptionPtr dataset, viewed_description_of(file, object));
    // Times of other calendars than NumPy's have no bytes, but lines.
    if (decoding->bytes_are_lines && view().directory.empty()) out.view = &view::text_view();
    out.derivation = decoding->derivation(*dataset, out.view->shown_as);
    out.decoded = std::move(decoding->text);
    return out;
  }

  Result<std::optional<TableForm>> table_form(ServedFile& file, const OpenedObject& object,
                                              const std::string& part, RequestBudget& budget) const override {
    H5_ASSIGN(std::optional<TableForm> out, ViewMirror::table_form(file, object, part, budget));
    if (!out && view().of_groups) {
      H5_ASSIGN(const bool grid, is_grid(file, object, budget));
      if (grid) out.emplace();
    }
    if (!out) return out;
    out->decoded = true;
    out->shown_as = view().shown_as;
    if (part.starts_with(kGridMark)) out->grid = part.substr(1, part.size() - 1 - view().suffix.size());
    return out;
  }

  Status complete(ServedFile& file, const OpenedObject& object, const LinkPlace& place, ViewOf& of,
                  RequestBudget& budget) const override {
    if (!view().shows_places) return {};
    H5_ASSIGN(const auto decoding, decoding_of_object(file, object, budget));
    H5_ASSIGN(auto map,
              map_of_object(file, object, decoding ? &*decoding : nullptr, file.path_of(place), budget));
    if (!map) return {};
    of.derivation =
        of.derivation ? view::derive_both(std::move(of.derivation), map->derivation) : map->derivation;
    of.decoded = std::move(map->text);
    return {};
  }

  const std::string name_;
};

}  // namespace

NodePtr make_decoded_directory(const VirtualDirectorySetup& setup) {
  std::vector<std::pair<std::string, NodePtr>> entries;
  for (const view::View& view : view::views())
    entries.emplace_back(view.directory,
                         make_mirror(setup, std::make_shared<DecodedMirror>(view, view.directory)));
  entries.emplace_back("raw",
                       make_mirror(setup, std::make_shared<DecodedMirror>(view::view_by_suffix(""), "raw")));
  entries.emplace_back("mtx", make_matrix_directory(setup));
  entries.emplace_back("slice", make_decoded_slice_directory(setup));
  std::ranges::sort(entries, {}, &std::pair<std::string, NodePtr>::first);
  return make_fixed_directory(setup.context, "decoded", std::move(entries));
}

}  // namespace h5mount::tree
