#include "listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "fields.h"
#include "h5mount/text/value_text.h"
#include "tags.h"
#include "url.h"

namespace h5mount::serve {
namespace {

struct ListedEntry {
  std::string name;
  std::string_view type = "unknown";  // directory, file, symlink; unknown where it cannot be looked up
  std::optional<std::uint64_t> size;  // of a file, where it is known without reading it
  std::optional<std::int64_t> modified;
  std::string etag, target, error;
};

// An HTML listing has the form of nginx's and Apache's, which wget, GDAL, fsspec and httpdirfs take apart.
class ListingText {
 public:
  ListingText(ListingForm form, std::string_view path) : form_(form), path_(path) {}

  std::string begin() const {
    if (form_ == ListingForm::Json) return "[";
    const std::string title = escape_html(path_.empty() ? "/" : "/" + path_ + "/");
    return fmt::format(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Index of {0}</title></head>\n"
        "<body>\n<h1>Index of {0}</h1><hr><pre>{1}",
        title, path_.empty() ? "" : "<a href=\"../\">../</a>\n");
  }
  std::string entry(const ListedEntry& entry, bool first) const {
    return form_ == ListingForm::Json ? (first ? "\n" : ",\n") + json(entry) : html(entry);
  }
  std::string damage(const Error& error, bool first) const {
    if (form_ == ListingForm::Html) return "error: " + escape_html(error.text()) + "\n";
    std::string out = first ? "\n" : ",\n";
    out += "{\"name\":null,\"type\":\"error\",\"error\":";
    text::append_json_string(error.text(), out);
    return out + "}";
  }
  std::string end() const { return form_ == ListingForm::Json ? "\n]\n" : "</pre><hr></body></html>\n"; }

 private:
  static void add_text(std::string_view key, std::string_view value, std::string& out) {
    if (value.empty()) return;
    out += fmt::format(",\"{}\":", key);
    text::append_json_string(value, out);
  }

  static std::string json(const ListedEntry& entry) {
    std::string out = "{\"name\":";
    text::append_json_string(entry.name, out);
    out += fmt::format(R"(,"href":"{}{}","type":"{}","size":)", encode_segment(entry.name),
                       entry.type == "directory" ? "/" : "", entry.type);
    out += entry.size ? fmt::format("{}", *entry.size) : "null";
    out += entry.modified ? fmt::format(",\"mtime\":{}", *entry.modified) : ",\"mtime\":null";
    add_text("etag", entry.etag, out);
    add_text("target", entry.target, out);
    add_text("error", entry.error, out);
    return out + "}";
  }

  static std::string html(const ListedEntry& entry) {
    const std::string_view slash = entry.type == "directory" ? "/" : "";
    const std::string shown = escape_html(entry.name);
    std::string date = "-";
    if (entry.modified) {
      // "Sun, 06 Nov 1994 08:49:37 GMT" to "06-Nov-1994 08:49"
      const std::string words = format_date(*entry.modified);
      date = fmt::format("{}-{}-{} {}", words.substr(5, 2), words.substr(8, 3), words.substr(12, 4),
                         words.substr(17, 5));
    }
    const std::string size = entry.size ? fmt::format("{}", *entry.size) : "-";
    const int padding = std::max(1, 50 - static_cast<int>(entry.name.size()));
    return fmt::format("<a href=\"{0}{1}\">{2}{1}</a>{3:{4}} {5:>17} {6:>19}\n", encode_segment(entry.name),
                       slash, shown, "", padding, date, size);
  }

  const ListingForm form_;
  const std::string path_;
};

ListedEntry listed_entry(const Snapshot& snapshot, const front::FoundNode& directory,
                         const tree::DirectoryListing& listing, std::size_t position) {
  ListedEntry out;
  out.name = listing.name_at(position);
  const auto entry = snapshot.tree->lookup_listed(directory.node.id(), listing, position);
  if (!entry) {
    out.error = entry.error().text();
    return out;
  }
  const front::NodeReference node(snapshot.tree, entry->node);
  out.modified = entry->stat.mtime;
  const std::string path = front::joined_path(directory.path, out.name);
  switch (entry->stat.type) {
    case tree::NodeType::Directory:
      out.type = "directory";
      break;
    case tree::NodeType::File:
      out.type = "file";
      // 0 where a size is not known without reading.
      if (entry->stat.complete || entry->stat.size > 0) out.size = entry->stat.size;
      out.etag = etag_of(snapshot, path, node.id(), entry->stat.type);
      break;
    case tree::NodeType::Symlink:
      out.type = "symlink";
      out.target = snapshot.tree->readlink(node.id()).value_or(std::string());
      break;
  }
  return out;
}

class ListingBody final : public Body {
 public:
  ListingBody(std::shared_ptr<const Snapshot> snapshot, front::FoundNode directory,
              std::shared_ptr<const tree::DirectoryListing> listing, const std::string& path,
              ListingForm form)
      : snapshot_(std::move(snapshot)),
        directory_(std::move(directory)),
        listing_(std::move(listing)),
        text_(form, path),
        pending_(text_.begin()) {}

  std::optional<std::uint64_t> size() const override { return std::nullopt; }

  Result<std::size_t> read(MutableByteSpan out) override {
    while (pending_.size() - given_ < out.size() && !ended_) add_next();
    const std::size_t count = std::min(out.size(), pending_.size() - given_);
    std::memcpy(out.data(), pending_.data() + given_, count);
    given_ += count;
    if (given_ == pending_.size()) {
      pending_.clear();
      given_ = 0;
    }
    return count;
  }

 private:
  void add_next() {
    if (next_ < listing_->size()) {
      pending_ += text_.entry(listed_entry(*snapshot_, directory_, *listing_, next_), next_ == 0);
      ++next_;
      return;
    }
    if (const Error* damage = listing_->damage()) pending_ += text_.damage(*damage, next_ == 0);
    pending_ += text_.end();
    ended_ = true;
  }

  const std::shared_ptr<const Snapshot> snapshot_;
  const front::FoundNode directory_;
  const std::shared_ptr<const tree::DirectoryListing> listing_;
  const ListingText text_;
  std::string pending_;  // from `given_` on not yet read
  std::size_t given_ = 0, next_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<BodyPtr> make_listing(std::shared_ptr<const Snapshot> snapshot, front::FoundNode directory,
                             const std::string& path, ListingForm form) {
  H5_ASSIGN(auto listing, snapshot->tree->open_directory(directory.node.id()));
  const bool whole = listing->size() <= kMaxWholeListing;
  auto body = std::make_unique<ListingBody>(std::move(snapshot), std::move(directory), std::move(listing),
                                            path, form);
  if (!whole) return body;
  H5_ASSIGN(std::string text, read_all(*body));
  return make_text_body(std::move(text));
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
