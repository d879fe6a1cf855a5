// /.h5/decoded: the views of what conventions say that elements mean (meaning/decoding.h), each in a mirror
// of its own. A dataset that no convention speaks of is there as in the plain view.
#include <fmt/format.h>

#include <algorithm>

#include "../objects/decoded.h"
#include "../objects/element_links.h"
#include "view_mirror.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

class DecodedMirror final : public ViewMirror {
 public:
  // `name`: of its directory.
  DecodedMirror(const view::View& view, std::string_view name)
      : ViewMirror(view), name_(fmt::format("decoded/{}", name)) {}

  std::string_view name() const override { return name_; }
  Result<ElementLinksPtr> elements_of(ServedFile& file, const OpenedObject& object,
                                      RequestBudget& budget) const override {
    return matlab_elements(file, object, budget);
  }
  Result<bool> hides(const GroupContents& group, const format::Link& link,
                     RequestBudget& budget) const override {
    return is_kept_beside(group, link, budget);
  }

 private:
  Result<ViewOf> view_of(ServedFile& file, const OpenedObject& object, RequestBudget& budget) const override {
    ViewOf out{&view(), nullptr, {}};
    if (object.object.kind != object::ObjectKind::Dataset) return out;
    H5_ASSIGN(auto decoding, decoding_of_object(file, object, budget));
    if (!decoding) return out;
    H5_ASSIGN(const DatasetDescriptionPtr dataset, viewed_description_of(file, object));
    // Times of other calendars than NumPy's have no bytes, but lines.
    if (decoding->bytes_are_lines && view().directory.empty()) out.view = &view::text_view();
    out.derivation = decoding->derivation(*dataset, out.view->shown_as);
    out.decoded = std::move(decoding->text);
    return out;
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
  entries.emplace_back("slice", make_decoded_slice_directory(setup));
  std::ranges::sort(entries, {}, &std::pair<std::string, NodePtr>::first);
  return make_fixed_directory(setup.context, "decoded", std::move(entries));
}

}  // namespace h5mount::tree
