// /.h5/metadata.jsonl, /.h5/list.txt and /.h5/README: texts about the whole file, made when they are opened.

#include "../core/open_files.h"
#include "../objects/list_lines.h"
#include "../objects/metadata_lines.h"
#include "../objects/object_facts.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/view/view.h"
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
    "list.txt                   the whole tree for people: shapes, types, filters, link targets, attributes\n"
    "log                        the mount's last thousand messages\n"
    "metadata.jsonl             the whole tree, a JSON object a line: jq 'select(.kind == \"dataset\") | "
    ".path'\n"
    "ndjson/PATH.ndjson         tables, a JSON object a row\n"
    "npy/PATH.npy               a dataset for numpy.load, also with mmap_mode='r'\n"
    "parquet/PATH.parquet       tables for DuckDB, Polars, pandas\n"
    "plain.zarr/, stored.zarr/  the file as a Zarr store, decoded or as it is stored\n"
    "slice/PATH/SELECTION       what NumPy's indexing selects: slice/image/10:20,:,3 or ::100 or -1 or "
    "...,0;\n"
    "                           with another view's suffix as that: SELECTION.npy, .csv, .tif\n"
    "sparse/PATH/               coordinates and values of a sparse dataset\n"
    "status                     the mount's counters\n"
    "text/PATH                  any dataset as text, an element or a row of the last dimension a line\n"
    "tiff/PATH.tif              images and stacks of images (pages), with RGB(A) and palettes\n"
    "v3.zarr/                   the file as a Zarr store of version 3, decoded\n";

using MakeTreeText = Status (*)(const ServedFilePtr& file, TreeText& out, RequestBudget& budget);

Status append_list_lines(const ServedFilePtr& file, TreeText& out, RequestBudget& budget) {
  return list_lines(file, [&](std::string_view lines) { return out.append(lines); }, budget);
}

// The text is held in memory as long as it is open. A stat makes it as well, to count its bytes, and
// remembers their number: the text is the same as long as the snapshot and the failures that it names are.
class TreeTextNode : public Node {
 public:
  TreeTextNode(const VirtualDirectorySetup& setup, std::string name, MakeTreeText make)
      : Node(virtual_key(std::move(name))), context_(setup.context), file_(setup.main), make_(make) {}

  Result<NodeStat> stat(StatDepth depth, RequestBudget& budget) override {
    NodeStat stat = plain_stat(*context_, NodeType::File, virtual_ino(key().name));
    stat.complete = false;
    if (depth == StatDepth::Listing) {
      set_size(stat, known_size());
      return stat;
    }
    const auto bytes = size(budget);
    bytes ? set_size(stat, *bytes) : set_unreadable_size(stat);
    H5_TRY(ended_early(budget));
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget& budget) override {
    const auto text = std::make_shared<TreeText>(*context_);
    H5_TRY(make_(file_, *text, budget));
    H5_TRY(file_->followed().confirm_unchanged());
    const MutexLock lock(mutex_);
    opened_ = text;
    return open_tree_text(text, false);
  }

 private:
  struct Measure {
    Measure(std::uint64_t of_snapshot, std::uint64_t with_failures)
        : snapshot(of_snapshot), failures(with_failures) {}
    const std::uint64_t snapshot, failures;
    OnceValue<std::uint64_t> bytes;
  };

  // 0 where the text was not made yet.
  std::uint64_t known_size() {
    const MutexLock lock(mutex_);
    if (const auto opened = opened_.lock()) return opened->size();
    return measure_ ? measure_->bytes.peek().value_or(0) : 0;
  }

  Result<std::uint64_t> size(RequestBudget& budget) {
    const std::uint64_t snapshot = file_->metadata()->number(), failures = file_->failures().changes();
    std::shared_ptr<Measure> measure;
    {
      const MutexLock lock(mutex_);
      if (const auto opened = opened_.lock()) return opened->size();
      if (!measure_ || measure_->snapshot != snapshot || measure_->failures != failures)
        measure_ = std::make_shared<Measure>(snapshot, failures);
      measure = measure_;
    }
    return measure->bytes.get_once(
        [&]() -> Result<std::uint64_t> {
          TreeText text(*context_, TreeText::Bytes::Counted);
          H5_TRY(make_(file_, text, budget));
          H5_TRY(file_->followed().confirm_unchanged());
          return text.size();
        },
        &budget);
  }

  ViewContextPtr context_;
  ServedFilePtr file_;
  const MakeTreeText make_;
  Mutex mutex_;
  std::shared_ptr<Measure> measure_ H5_GUARDED_BY(mutex_);
  std::weak_ptr<const TreeText> opened_ H5_GUARDED_BY(mutex_);  // the text opened last
};

class ReadmeNode : public Node {
 public:
  explicit ReadmeNode(ViewContextPtr context) : Node(virtual_key("README")), context_(std::move(context)) {}

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    NodeStat stat = plain_stat(*context_, NodeType::File, virtual_ino(key().name));
    set_size(stat, kReadme.size());
    return stat;
  }
  Result<std::shared_ptr<OpenNode>> open(RequestBudget&) override { return open_text(std::string(kReadme)); }

 private:
  ViewContextPtr context_;
};

}  // namespace

NodePtr make_metadata_file(const VirtualDirectorySetup& setup) {
  return std::make_shared<TreeTextNode>(setup, "metadata.jsonl", append_metadata_lines);
}

NodePtr make_list_file(const VirtualDirectorySetup& setup) {
  return std::make_shared<TreeTextNode>(setup, "list.txt", append_list_lines);
}

NodePtr make_readme_file(const VirtualDirectorySetup& setup) {
  return std::make_shared<ReadmeNode>(setup.context);
}

}  // namespace h5mount::tree
