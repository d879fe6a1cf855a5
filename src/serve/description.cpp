#include "description.h"

#include <fmt/format.h>

#include "h5mount/base/utf8.h"
#include "h5mount/text/value_text.h"
#include "h5mount/tree/hidden_entries.h"
#include "h5mount/tree/names.h"
#include "url.h"

namespace h5mount::serve {
namespace {

// A longer value is cut, and named in "cut"; the whole one is a file below /.h5/attributes.
constexpr std::size_t kMaxShownValue = 4096;

// Attributes that would be read after this time are left out.
constexpr std::chrono::seconds kMaxTime{4};

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
  Description(const Snapshot& snapshot, const front::FoundNode& found, const std::string& source,
              RequestWork& work)
      : tree_(snapshot.tree), found_(found), source_(source), work_(work) {}

  std::string text() {
    const auto exact = tree_->stat(found_.node.id(), tree::StatDepth::Listing, work_.budget());
    const tree::NodeStat& stat = exact ? *exact : found_.stat;
    const bool directory = stat.type == tree::NodeType::Directory;
    out_ = "{\"path\":";
    text::append_json_string("/" + found_.path, out_);
    out_ += fmt::format(R"(,"href":"{0}{1}{2}","source":"{0}","type":"{3}","size":{4},"mtime":{5})", source_,
                        encode_path(found_.path), directory && !found_.path.empty() ? "/" : "",
                        directory ? "directory" : "file",
                        stat.complete || stat.size > 0 ? fmt::format("{}", stat.size) : "null", stat.mtime);
    add_views();
    add_xattrs();
    return out_ + "}\n";
  }

 private:
  void add_xattrs() {
    Members values, errors, cut;
    if (const auto names = tree_->list_xattrs(found_.node.id(), work_.budget())) {
      for (const std::string& name : *names) add_xattr(name, values, errors, cut);
    } else {
      errors.add("", names.error().text());
    }
    out_ += fmt::format(R"(,"xattrs":{{{}}},"errors":{{{}}},"cut":{{{}}})", values.text(), errors.text(),
                        cut.text());
  }

  void add_xattr(const std::string& name, Members& values, Members& errors, Members& cut) {
    const bool too_many = values.text().size() + errors.text().size() > work_.most_text();
    if (too_many || work_.job_age() > kMaxTime) {
      if (left_out_++ == 0)
        errors.add(name, too_many ? "not shown, and nothing after it: there are too many"
                                  : "not shown, and nothing after it: those before took too long");
      return;
    }
    const auto value = tree_->get_xattr(found_.node.id(), name, work_.budget());
    if (!value) return errors.add(name, value.error().text());
    const std::string_view shown = utf8_prefix(*value, kMaxShownValue);
    values.add(name, shown);
    if (shown.size() < value->size()) cut.add(name, fmt::format("{}", value->size()));
  }

  bool exists(const std::string& path, bool directory) const {
    const auto view = front::find_path(tree_, path, front::LastLink::Keep, work_.budget());
    return view && (view->stat.type == tree::NodeType::Directory) == directory;
  }

  // The path of an entry of /.h5, without a leading `/`.
  static std::string hidden_path(std::string_view entry, std::string_view below,
                                 std::string_view suffix = {}) {
    return fmt::format("{}/{}/{}{}", tree::kHiddenName, entry, below, suffix);
  }

  // A view's name that is cut and hashed because it is too long is not searched.
  void add_views() {
    out_ += ",\"views\":[";
    const bool view_itself = tree::is_hidden_path(found_.path);
    bool first = true;
    for (const tree::HiddenEntry& entry : tree::hidden_entries()) {
      if (view_itself || found_.path.empty()) break;
      if (entry.shows == tree::HiddenEntry::Shows::Whole) continue;
      const bool directory = entry.shows == tree::HiddenEntry::Shows::Directory;
      const std::string path = hidden_path(entry.name, found_.path, entry.suffix);
      if (!exists(path, directory)) continue;
      out_ += fmt::format("{}{{\"name\":\"{}\",\"href\":\"{}{}{}\"}}", first ? "" : ",", entry.name, source_,
                          encode_path(path), directory ? "/" : "");
      first = false;
    }
    out_ += ']';
    const std::string slices = hidden_path("slice", found_.path);
    if (!view_itself && found_.stat.type == tree::NodeType::File && exists(slices, true))
      out_ += fmt::format(",\"slices\":\"{}{}/\"", source_, encode_path(slices));
    if (!view_itself && exists(std::string(tree::kHiddenName), true))
      out_ += fmt::format(",\"special\":\"{}{}/\"", source_, tree::kHiddenName);
  }

  const std::shared_ptr<tree::Tree>& tree_;
  const front::FoundNode& found_;
  const std::string& source_;
  RequestWork& work_;
  std::string out_;
  std::size_t left_out_ = 0;  // attributes
};

}  // namespace

std::string describe_node(const Snapshot& snapshot, const front::FoundNode& found, const std::string& source,
                          RequestWork& work) {
  return Description(snapshot, found, source, work).text();
}

}  // namespace h5mount::serve
