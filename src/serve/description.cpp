#include "description.h"

#include <fmt/format.h>

#include <array>

#include "h5mount/base/utf8.h"
#include "h5mount/text/value_text.h"
#include "url.h"

namespace h5mount::serve {
namespace {

struct ViewPlace {
  std::string_view name, suffix;
  bool directory = false;  // the view of a dataset is a directory
};
constexpr std::array<ViewPlace, 11> kViewPlaces = {{{"npy", ".npy"},
                                                    {"csv", ".csv"},
                                                    {"tsv", ".tsv"},
                                                    {"ndjson", ".ndjson"},
                                                    {"parquet", ".parquet"},
                                                    {"tiff", ".tif"},
                                                    {"text", ""},
                                                    {"fields", "", true},
                                                    {"plain.zarr", "", true},
                                                    {"stored.zarr", "", true},
                                                    {"v3.zarr", "", true}}};

// A longer value is cut, and named in "cut"; the whole one is a file below /.h5/attributes.
constexpr std::size_t kMaxShownValue = 4096;
// Of all values together; what is more is named in "errors".
constexpr std::size_t kMaxDescription = 4U << 20;

// Members of a JSON object.
class Members {
 public:
  void add(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += ',';
    text::append_json_string(name, text_);
    text_ += ':';
    text::append_json_string(value, text_);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Description {
 public:
  Description(const Snapshot& snapshot, const front::FoundNode& found, const std::string& prefix)
      : tree_(snapshot.tree), found_(found), prefix_(prefix) {}

  std::string text() {
    const auto exact = tree_->stat(found_.node.id(), tree::StatDepth::Listing);
    const tree::NodeStat& stat = exact ? *exact : found_.stat;
    const bool directory = stat.type == tree::NodeType::Directory;
    out_ = "{\"path\":";
    text::append_json_string("/" + found_.path, out_);
    out_ += fmt::format(R"(,"href":"{}/{}{}","type":"{}","size":{},"mtime":{})", prefix_,
                        encode_path(found_.path), directory && !found_.path.empty() ? "/" : "",
                        directory ? "directory" : "file",
                        stat.complete || stat.size > 0 ? fmt::format("{}", stat.size) : "null", stat.mtime);
    add_xattrs();
    add_views();
    return out_ + "}\n";
  }

 private:
  void add_xattrs() {
    Members values, errors, cut;
    if (const auto names = tree_->list_xattrs(found_.node.id())) {
      for (const std::string& name : *names) add_xattr(name, values, errors, cut);
    } else {
      errors.add("", names.error().text());
    }
    out_ += fmt::format(R"(,"xattrs":{{{}}},"errors":{{{}}},"cut":{{{}}})", values.text(), errors.text(),
                        cut.text());
  }

  void add_xattr(const std::string& name, Members& values, Members& errors, Members& cut) const {
    if (values.text().size() > kMaxDescription) return errors.add(name, "not shown: there are too many");
    const auto value = tree_->get_xattr(found_.node.id(), name);
    if (!value) return errors.add(name, value.error().text());
    const std::string_view shown = utf8_prefix(*value, kMaxShownValue);
    values.add(name, shown);
    if (shown.size() < value->size()) cut.add(name, fmt::format("{}", value->size()));
  }

  bool exists(const std::string& path, bool directory) const {
    const auto view = front::find_path(tree_, path, front::LastLink::Keep);
    return view && (view->stat.type == tree::NodeType::Directory) == directory;
  }

  // A view's name that is cut and hashed because it is too long is not searched.
  void add_views() {
    out_ += ",\"views\":[";
    const bool view_itself = found_.path == ".h5" || found_.path.starts_with(".h5/");
    bool first = true;
    for (const ViewPlace& place : kViewPlaces) {
      if (view_itself || found_.path.empty()) break;
      const std::string path = fmt::format(".h5/{}/{}{}", place.name, found_.path, place.suffix);
      if (!exists(path, place.directory)) continue;
      out_ += fmt::format("{}{{\"name\":\"{}\",\"href\":\"{}/{}{}\"}}", first ? "" : ",", place.name, prefix_,
                          encode_path(path), place.directory ? "/" : "");
      first = false;
    }
    out_ += ']';
    const std::string slices = ".h5/slice/" + found_.path;
    if (!view_itself && found_.stat.type == tree::NodeType::File && exists(slices, true))
      out_ += fmt::format(",\"slices\":\"{}/{}/\"", prefix_, encode_path(slices));
    if (!view_itself && exists(".h5", true)) out_ += fmt::format(",\"special\":\"{}/.h5/\"", prefix_);
  }

  const std::shared_ptr<tree::Tree>& tree_;
  const front::FoundNode& found_;
  const std::string& prefix_;
  std::string out_;
};

}  // namespace

std::string describe_node(const Snapshot& snapshot, const front::FoundNode& found,
                          const std::string& prefix) {
  return Description(snapshot, found, prefix).text();
}

}  // namespace h5mount::serve
