// /.h5/references.json: kerchunk's form of references, version 1
// (https://fsspec.github.io/kerchunk/spec.html). GDAL takes a file for version 0 if "version" is not its
// first member, and knows no other top members than strings.
#include <fmt/format.h>

#include "../core/states.h"
#include "../objects/tree_text.h"
#include "../views/virtual_directories.h"
#include "h5mount/view/reference.h"
#include "references.h"

namespace h5mount::tree {

namespace {

class JsonReferences final : public ReferenceSink {
 public:
  explicit JsonReferences(TreeText& out) : out_(out) {}

  Status add_metadata(const std::string& key, std::string_view json) override {
    next();
    text::append_json_string(key, buffer_);
    buffer_ += ':';
    text::append_json_string(json, buffer_);
    return flush(kFlushed);
  }

  Status begin_array(std::span<const std::string> paths, const view::ZarrArray& array) override {
    H5_TRY(flush(0));
    array_ = &array;
    begin_ = out_.size();
    first_before_ = first_;
    keys_.clear();
    for (const std::string& path : paths) {
      std::string& key = keys_.emplace_back();
      text::append_json_string(path + "/", key);
      key.pop_back();
    }
    return {};
  }
  Status add_range(std::uint64_t chunk, const ReferencedRange& range) override {
    if (range.url != url_) {
      url_ = range.url;
      url_text_ = text::json_string(encoded(url_));
    }
    return add(chunk, fmt::format("[{},{},{}]", url_text_, range.offset, range.length));
  }
  Status add_bytes(std::uint64_t chunk, std::string_view bytes) override {
    return add(chunk, view::base64_text(as_bytes(bytes)));
  }
  Status end_array(bool kept) override {
    array_ = nullptr;
    if (kept) return {};
    buffer_.clear();
    out_.cut(begin_);
    first_ = first_before_;
    return {};
  }

  Status end(const ReferenceSummary& summary) {
    buffer_ += R"(},"h5mount":)" + text::json_string(summary.files_text()) + "}\n";
    return flush(0);
  }

 private:
  static constexpr std::size_t kFlushed = 64U << 10;

  // In a URL, as fsspec would take it for the begin of a template.
  static std::string encoded(std::string_view url) {
    std::string out(url);
    if (url.find("://") == std::string_view::npos) return out;
    for (std::size_t at = 0; (at = out.find("{{", at)) != std::string::npos;) out.replace(at, 2, "%7B%7B");
    return out;
  }

  void next() {
    if (!first_) buffer_ += ",\n";
    first_ = false;
  }

  Status add(std::uint64_t chunk, std::string_view value) {
    const std::string name = array_->chunk_name(chunk);
    for (const std::string& key : keys_) {
      next();
      buffer_.append(key).append(name).append("\":").append(value);
    }
    return flush(kFlushed);
  }

  Status flush(std::size_t most) {
    if (buffer_.size() <= most) return {};
    H5_TRY(out_.append(buffer_));
    buffer_.clear();
    return {};
  }

  TreeText& out_;
  std::string buffer_ = "{\"version\":1,\"refs\":{\n";
  bool first_ = true, first_before_ = true;
  const view::ZarrArray* array_ = nullptr;
  std::uint64_t begin_ = 0;        // of the array, in `out_`
  std::vector<std::string> keys_;  // of the array's names: the begin of a JSON string
  std::string url_, url_text_;     // the last one, and its JSON
};

Status append_references(const ServedFilePtr& file, TreeText& out, RequestBudget& budget) {
  JsonReferences form(out);
  H5_ASSIGN(const ReferenceSummary summary, write_references(file, form, budget));
  file->context().references->listed = true;
  return form.end(summary);
}

// That of the newest snapshot, made once, of a text whose bytes are only counted: what it cannot hold is left
// out.
Result<ReferenceSummaryPtr> reference_summary(const ServedFilePtr& file, RequestBudget& budget) {
  const auto make = [&]() -> Result<ReferenceSummaryPtr> {
    TreeText counted(file->context(), TreeText::Bytes::Counted);
    JsonReferences form(counted);
    H5_ASSIGN(ReferenceSummary made, write_references(file, form, budget));
    H5_TRY(file->followed().confirm_unchanged());
    return std::make_shared<const ReferenceSummary>(std::move(made));
  };
  return file->kept<SnapshotValue<ReferenceSummaryPtr>>().get_once(file->metadata()->number(), make, budget);
}

}  // namespace

NodePtr make_references_file(const VirtualDirectorySetup& setup) {
  if (!shows_references(*setup.context)) return nullptr;
  setup.context->references->text = [](const ServedFilePtr& file,
                                       RequestBudget& budget) -> Result<std::string> {
    H5_ASSIGN(const ReferenceSummaryPtr summary, reference_summary(file, budget));
    return summary->text();
  };
  return make_tree_text_file(setup, "references.json", "application/json", append_references);
}

}  // namespace h5mount::tree
