// /.h5/metadata.jsonl and /.h5/README: texts about the whole file, made when they are opened.
#include <mutex>

#include "h5mount/view/view.h"
#include "metadata_lines.h"
#include "object_facts.h"
#include "open_files.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

constexpr std::string_view kReadme =
    "What the mount shows beside the file's own tree. PATH is an object's path; nothing here is stored, all "
    "of it\n"
    "is computed when it is read. Sizes are exact; growing files are followed.\n"
    "\n"
    "attributes/PATH@NAME       an attribute of any size as text\n"
    "csv/, tsv/PATH.csv         tables with a header row: datasets of one or two dimensions, and groups of\n"
    "                           equally long datasets of one dimension\n"
    "external/FILE/             the files that external links lead to\n"
    "fields/PATH/MEMBER         a member of a compound dataset, packed; MEMBER.npy with a header\n"
    "log                        the mount's last thousand messages\n"
    "metadata.jsonl             the whole tree, a JSON object a line: jq 'select(.kind == \"dataset\") | "
    ".path'\n"
    "ndjson/PATH.ndjson         tables, a JSON object a row\n"
    "npy/PATH.npy               a dataset for numpy.load, also with mmap_mode='r'\n"
    "parquet/PATH.parquet       tables for DuckDB, Polars, pandas\n"
    "plain.zarr/, stored.zarr/  the file as a Zarr store, decoded or as it is stored\n"
    "slice/PATH/SELECTION       what NumPy's indexing selects: slice/image/10:20,:,3 or ::100 or -1 or "
    "...,0;\n"
    "                           with another view's suffix as that: SELECTION.npy, .csv\n"
    "sparse/PATH/               coordinates and values of a sparse dataset\n"
    "status                     the mount's counters\n"
    "text/PATH                  any dataset as text, an element or a row of the last dimension a line\n"
    "v3.zarr/                   the file as a Zarr store of version 3, decoded\n";

class OpenTreeText : public OpenNode {
 public:
  OpenTreeText(std::shared_ptr<const std::string> text, std::shared_ptr<ByteBudget> budget)
      : text_(std::move(text)), budget_(std::move(budget)) {}
  ~OpenTreeText() override { budget_->give_back(text_->size()); }
  OpenTreeText(const OpenTreeText&) = delete;
  OpenTreeText& operator=(const OpenTreeText&) = delete;

  // The size was not known when the name was looked up.
  bool keeps_pages() const override { return false; }
  bool direct() const override { return true; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out) override {
    view::add_text(text_, offset, length, out);
    return {};
  }
  Result<std::uint64_t> seek_data(std::uint64_t offset) override {
    if (offset >= text_->size()) return fail({ErrorCode::NotFound, "beyond the end"});
    return offset;
  }
  Result<std::uint64_t> seek_hole(std::uint64_t offset) override {
    if (offset >= text_->size()) return fail({ErrorCode::NotFound, "beyond the end"});
    return text_->size();
  }

 private:
  std::shared_ptr<const std::string> text_;
  std::shared_ptr<ByteBudget> budget_;
};

// The size is that of the text that was opened last.
class MetadataNode : public Node {
 public:
  explicit MetadataNode(const VirtualDirectorySetup& setup)
      : Node(virtual_key("metadata.jsonl")), context_(setup.context), file_(setup.main) {}

  Result<NodeStat> stat(StatDepth) override {
    NodeStat stat = plain_stat(*context_, NodeType::File, virtual_ino(key().name));
    const std::lock_guard lock(mutex_);
    set_size(stat, size_);
    stat.complete = false;
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open() override {
    std::string lines;
    H5_TRY(append_metadata_lines(file_, ViewContext::kMaxOpenTextBytes, lines));
    H5_TRY(file_->followed().confirm_unchanged());
    if (!context_->open_texts->take(lines.size()))
      return fail({ErrorCode::LimitExceeded, "too much text is open at once"});
    auto text = std::make_shared<const std::string>(std::move(lines));
    auto opened = std::make_shared<OpenTreeText>(text, context_->open_texts);
    const std::lock_guard lock(mutex_);
    size_ = text->size();
    return opened;
  }

 private:
  ViewContextPtr context_;
  ServedFilePtr file_;
  std::mutex mutex_;
  std::uint64_t size_ = 0;  // guarded by mutex_
};

class ReadmeNode : public Node {
 public:
  explicit ReadmeNode(ViewContextPtr context) : Node(virtual_key("README")), context_(std::move(context)) {}

  Result<NodeStat> stat(StatDepth) override {
    NodeStat stat = plain_stat(*context_, NodeType::File, virtual_ino(key().name));
    set_size(stat, kReadme.size());
    return stat;
  }
  Result<std::shared_ptr<OpenNode>> open() override { return open_text(std::string(kReadme)); }

 private:
  ViewContextPtr context_;
};

}  // namespace

NodePtr make_metadata_file(const VirtualDirectorySetup& setup) {
  return std::make_shared<MetadataNode>(setup);
}

NodePtr make_readme_file(const VirtualDirectorySetup& setup) {
  return std::make_shared<ReadmeNode>(setup.context);
}

}  // namespace h5mount::tree
