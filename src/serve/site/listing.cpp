#include "listing.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <utility>

#include "../http/gradual_body.h"
#include "../http/url.h"
#include "../source/tags.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/uri.h"
#include "h5mount/base/utf8.h"
#include "h5mount/text/json_writer.h"
#include "page_answers.h"

namespace h5mount::serve {
namespace {

struct ListedEntry {
  std::string name;
  std::string_view type = "unknown";  // directory, file, symlink; unknown if it cannot be looked up
  std::optional<std::uint64_t> size;  // of a file, if known without reading it
  std::optional<std::int64_t> modified;
  std::string etag, target, error;
  std::string kind = {}, shape = {}, dtype = {}, salvage = {};  // only for a Table
};

constexpr std::uint64_t kEntrySteps = 1000;
constexpr std::size_t kMaxShownType = 200;

constexpr std::string_view kNoPage =
    "<p>This h5mount was built without H5Web, which shows plots and values: building it needs npm.</p>\n";
// Dark where the reader's system is, and as wide as the screen.
constexpr std::string_view kForPeople =
    "<meta name=\"color-scheme\" content=\"light dark\">"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">";
constexpr std::string_view kTableHead =
    "<table cellpadding=\"4\">\n<tr "
    "align=\"left\"><th>Name</th><th>Kind</th><th>Shape</th><th>Type</th><th>Bytes</th></tr>\n";

// The text of a listing. As HTML it has the form of nginx's and Apache's listings, which wget, GDAL, fsspec
// and httpdirfs parse.
class ListingText {
 public:
  ListingText(ListingForm form, std::string_view path) : form_(form), path_(path) {}

  std::string begin() const {
    if (form_ == ListingForm::Json) return "[";
    const std::string title = escape_html(path_.empty() ? "/" : "/" + path_ + "/");
    const bool table = is_table();
    const std::string_view up = path_.empty() ? ""
                                : table       ? "<p><a href=\"../?plain\">../</a></p>\n"
                                              : "<a href=\"../\">../</a>\n";
    return fmt::format(
        "<!DOCTYPE html>\n<html{5}><head><meta charset=\"utf-8\">{6}<title>Index of {0}</title></head>\n"
        "<body>\n<h1>Index of {0}</h1><hr>{1}{2}{3}{4}",
        title, table ? "" : "<pre>", up, table && !has_page() ? kNoPage : "", table ? kTableHead : "",
        table ? " lang=\"en\"" : "", table ? kForPeople : "");
  }
  std::string entry(const ListedEntry& entry, bool first) const {
    if (is_table()) return row(entry);
    return form_ == ListingForm::Json ? (first ? "\n" : ",\n") + json(entry) : html(entry);
  }
  std::string damage(const Error& error, bool first) const {
    if (form_ == ListingForm::Html) return "error: " + escape_html(text_with_advice(error)) + "\n";
    if (is_table())
      return "<tr><td colspan=\"5\">error: " + escape_html(text_with_advice(error)) + "</td></tr>\n";
    std::string out = first ? "\n" : ",\n";
    text::JsonWriter json(out);
    json.begin_object()
        .member("name", nullptr)
        .member("type", "error")
        .member("error", text_with_advice(error));
    json.end_object();
    return out;
  }
  std::string end() const {
    if (form_ == ListingForm::Json) return "\n]\n";
    return fmt::format("</{}><hr></body></html>\n", is_table() ? "table" : "pre");
  }

 private:
  bool is_table() const { return form_ == ListingForm::Table || form_ == ListingForm::Files; }

  static std::string json(const ListedEntry& entry) {
    std::string out;
    text::JsonWriter json(out);
    json.begin_object().member("name", entry.name);
    json.member("href", encode_component(entry.name) + (entry.type == "directory" ? "/" : ""));
    json.member("type", entry.type);
    json.member("size", entry.size).member("mtime", entry.modified);
    if (!entry.etag.empty()) json.member("etag", entry.etag);
    if (!entry.target.empty()) json.member("target", entry.target);
    if (!entry.error.empty()) json.member("error", entry.error);
    json.end_object();
    return out;
  }

  std::string row(const ListedEntry& entry) const {
    const std::string_view end = entry.type != "directory"     ? ""
                                 : form_ == ListingForm::Files ? "/"
                                                               : "/?plain";
    const std::string kind = !entry.target.empty() ? "link to " + entry.target
                             : entry.kind.empty()  ? std::string(entry.type)
                                                   : entry.kind;
    const std::string salvage = entry.salvage.empty() ? "" : ", salvage: " + entry.salvage;
    const std::string error = entry.error.empty() ? "" : ", error: " + entry.error;
    return fmt::format(
        "<tr><td><a href=\"{}{}\">{}{}</a></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        encode_component(entry.name), end, escape_html(entry.name), end.substr(0, 1),
        escape_html(kind + salvage + error), escape_html(entry.shape), escape_html(entry.dtype),
        entry.size ? fmt::format("{}", *entry.size) : "");
  }

  static std::string html(const ListedEntry& entry) {
    const std::string_view slash = entry.type == "directory" ? "/" : "";
    const std::string shown = escape_html(entry.name);
    std::string date = "-";
    if (entry.modified) {
      std::tm parts = {};
      ::gmtime_r(&*entry.modified, &parts);
      date = fmt::format("{:%d-%b-%Y %H:%M}", parts);
    }
    const std::string size = entry.size ? fmt::format("{}", *entry.size) : "-";
    const int padding = std::max(1, 50 - static_cast<int>(entry.name.size()));
    return fmt::format("<a href=\"{0}{1}\">{2}{1}</a>{3:{4}} {5:>17} {6:>19}\n", encode_component(entry.name),
                       slash, shown, "", padding, date, size);
  }

  const ListingForm form_;
  const std::string path_;
};

class ListingBody final : public GradualBody {
 public:
  ListingBody(std::shared_ptr<const Snapshot> snapshot, front::FoundNode directory, ListingPtr listing,
              const std::string& path, ListingForm form)
      : snapshot_(std::move(snapshot)),
        directory_(std::move(directory)),
        listing_(std::move(listing)),
        form_(form),
        text_(form, path) {}

 private:
  Status add_next(std::string& out, RequestWork& work) override {
    H5_TRY(work.budget().spend(kEntrySteps + directory_.path.size()));
    if (!begun_) out += text_.begin();
    begun_ = true;
    if (next_ < listing_->size()) {
      // Clients keep a listing, so an error that may pass ends it.
      const MomentaryWatch watch;
      const ListedEntry entry = entry_at(next_, work.budget());
      if (watch.met() && !is_held_by_writer(*watch.met())) return fail(*watch.met());
      // If the request may not continue, the listing ends with an error: it must not look complete.
      if (!entry.error.empty()) H5_TRY(work.budget().check());
      out += text_.entry(entry, next_ == 0);
      ++next_;
      return {};
    }
    if (const Error* damage = listing_->damage()) out += text_.damage(*damage, next_ == 0);
    out += text_.end();
    end();
    return {};
  }

  ListedEntry entry_at(std::size_t position, RequestBudget& budget) {
    ListedEntry out;
    out.name = listing_->name_at(position);
    const auto entry =
        snapshot_->tree->lookup_listed(directory_.node.id(), *listing_, position, read_, budget);
    if (!entry) {
      out.error = text_with_advice(entry.error());
      return out;
    }
    const front::NodeReference node(snapshot_->tree, entry->node);
    out.modified = entry->stat.mtime;
    switch (entry->stat.type) {
      case tree::NodeType::Directory:
        out.type = "directory";
        break;
      case tree::NodeType::File:
        out.type = "file";
        // A size of 0 that is not complete is not known without reading the file.
        if (entry->stat.complete || entry->stat.size > 0) out.size = entry->stat.size;
        if (form_ == ListingForm::Json) out.etag = tag_of(*snapshot_, node.id(), {}, budget);
        break;
      case tree::NodeType::Symlink:
        out.type = "symlink";
        out.target = snapshot_->tree->readlink(node.id()).value_or(std::string());
        break;
    }
    if (form_ == ListingForm::Table && entry->stat.type != tree::NodeType::Symlink)
      add_facts(node.id(), out, budget);
    return out;
  }

  void add_facts(tree::NodeId node, ListedEntry& out, RequestBudget& budget) const {
    const auto fact = [&](const char* name) {
      return snapshot_->tree->get_xattr(node, name, budget).value_or(std::string());
    };
    out.kind = fact("user.hdf5.kind");
    out.shape = fact("user.hdf5.shape");
    out.dtype = std::string(utf8_prefix(fact("user.hdf5.dtype"), kMaxShownType));
    out.salvage = fact("user.hdf5.salvage");
    out.error = fact("user.hdf5.error");
  }

  Status confirm() override { return std::exchange(read_, {}).confirm_unchanged(); }

  const std::shared_ptr<const Snapshot> snapshot_;
  const front::FoundNode directory_;
  const ListingPtr listing_;
  const ListingForm form_;
  const ListingText text_;
  tree::FilesRead read_;
  bool begun_ = false;
  std::size_t next_ = 0;
};

}  // namespace

Result<BodyPtr> make_listing(std::shared_ptr<const Snapshot> snapshot, front::FoundNode directory,
                             const std::string& path, ListingForm form, RequestWork& work) {
  H5_ASSIGN(auto listing,
            snapshot->listings->open(*snapshot->tree, directory.node.id(), snapshot->version, work.budget()));
  auto body = std::make_unique<ListingBody>(std::move(snapshot), std::move(directory), std::move(listing),
                                            path, form);
  H5_TRY(body->begin(work));
  return body;
}

BodyPtr make_name_listing(const std::vector<std::string>& names, ListingForm form) {
  const ListingText text(form, "");
  std::string out = text.begin();
  for (std::size_t i = 0; i < names.size(); ++i) {
    ListedEntry entry;
    entry.name = names[i];
    entry.type = "directory";
    out += text.entry(entry, i == 0);
  }
  return make_text_body(out + text.end());
}

}  // namespace h5mount::serve
