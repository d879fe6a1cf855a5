#include "hidden_files.h"

#include <algorithm>

#include "../core/inode_numbers.h"
#include "../core/name_list.h"
#include "../core/open_files.h"
#include "../views/virtual_directories.h"
#include "h5mount/base/log.h"
#include "h5mount/tree/hidden_entries.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

constexpr std::string_view kAboutForest =
    "Each HDF5 file is a directory under its whole name. Here is what belongs to no file:\n\n"
    "catalogue.parquet          what all files hold, a row an object: SELECT file FROM 'catalogue.parquet'\n"
    "                           WHERE path = '/entry/sample/temperature' AND CAST(value AS DOUBLE) > 290;\n"
    "                           made when it is opened or its size is asked for; status tells how far that "
    "is\n"
    "joined/                    with join=: all files as one, with a directory .h5 of its own\n"
    "joined.h5                  the same as a file of virtual datasets, to be put beside the files\n"
    "log                        the mount's last thousand messages\n"
    "metadata.jsonl             the same as lines of JSON, made file by file as it is read\n"
    "status                     the mount's counters\n\n"
    "Each file's own directory has a directory .h5, which is not listed either.\n\n";

}  // namespace

namespace {

// joined.h5, made for a plan when it is first wanted, and kept as long as somebody has it open.
class StoredForm {
 public:
  explicit StoredForm(join::JoinedFilePtr joined) : joined_(std::move(joined)) {}

  Result<std::shared_ptr<const std::string>> bytes(RequestBudget& budget) {
    H5_TRY(joined_->plan(budget));
    const std::uint64_t version = joined_->version();
    if (auto made = known(); made && version == made->first)
      return std::shared_ptr<const std::string>(made, &made->second);
    H5_ASSIGN(const auto bytes, joined_->stored_form(budget));
    const auto text = as_text(bytes);
    const auto made = std::make_shared<const Made>(version, std::string(text));
    const MutexLock lock(mutex_);
    newest_ = made;
    // Who asks for the size reads the file next.
    constexpr std::size_t kMostKept = 8U << 20;
    kept_ = bytes.size() <= kMostKept ? made : nullptr;
    return std::shared_ptr<const std::string>(made, &made->second);
  }
  std::uint64_t known_size() const {
    const auto made = known();
    return made && made->first == joined_->version() ? made->second.size() : 0;
  }

 private:
  using Made = std::pair<std::uint64_t, std::string>;
  std::shared_ptr<const Made> known() const {
    const MutexLock lock(mutex_);
    return newest_.lock();
  }

  const join::JoinedFilePtr joined_;
  mutable Mutex mutex_;
  std::weak_ptr<const Made> newest_ H5_GUARDED_BY(mutex_);
  std::shared_ptr<const Made> kept_ H5_GUARDED_BY(mutex_);
};

}  // namespace

HiddenFiles::HiddenFiles(std::function<std::string()> status, Catalogue& catalogue,
                         const join::JoinedFilePtr& joined)
    : has_joined_(joined != nullptr) {
  const auto readme = std::make_shared<const std::string>(std::string(kAboutForest) + hidden_entries_text());
  files_.push_back({"README", kPlainText, [readme](StatDepth, RequestBudget&) { return readme->size(); },
                    [readme](RequestBudget&) { return open_text(readme); }, false});
  files_.push_back({"catalogue.parquet", "application/vnd.apache.parquet",
                    [&catalogue](StatDepth depth, RequestBudget& budget) -> Result<std::uint64_t> {
                      if (depth == StatDepth::Listing) return catalogue.known_parquet_size();
                      return catalogue.parquet_size(budget);
                    },
                    [&catalogue](RequestBudget& budget) { return catalogue.open_parquet(budget); }, true});
  if (joined) {
    const auto stored = std::make_shared<StoredForm>(joined);
    files_.push_back({"joined.h5", "application/x-hdf5",
                      [stored](StatDepth depth, RequestBudget& budget) -> Result<std::uint64_t> {
                        if (depth == StatDepth::Listing) return stored->known_size();
                        H5_ASSIGN(const auto bytes, stored->bytes(budget));
                        return bytes->size();
                      },
                      [stored](RequestBudget& budget) -> Result<std::shared_ptr<OpenNode>> {
                        H5_ASSIGN(auto bytes, stored->bytes(budget));
                        return open_text(std::move(bytes), false);
                      },
                      true});
  }
  files_.push_back({"log", kPlainText,
                    [](StatDepth, RequestBudget&) {
                      const KeptLog kept = kept_log();
                      return kept.end - kept.begin;
                    },
                    [](RequestBudget&) { return open_log(); }, true});
  files_.push_back({"metadata.jsonl", "application/x-ndjson", [](StatDepth, RequestBudget&) { return 0; },
                    [&catalogue](RequestBudget&) { return catalogue.open_lines(); }, true});
  if (!status) return;
  const auto open = [status](RequestBudget&) {
    return open_text(std::make_shared<const std::string>(status()), false);
  };
  files_.push_back(
      {"status", kPlainText, [status](StatDepth, RequestBudget&) { return status().size(); }, open, true});
}

Result<NodeId> HiddenFiles::find(std::string_view name) const {
  const auto found = std::ranges::find(files_, name, &File::name);
  if (found == files_.end()) return fail({ErrorCode::NotFound, "no such entry"});
  return kDirectory + 1 + static_cast<NodeId>(found - files_.begin());
}

std::shared_ptr<const DirectoryListing> HiddenFiles::list() const {
  auto out = std::make_shared<NameList>();
  for (const File& one : files_)
    out->add(std::string(one.name), NodeType::File, make_ino(fnv1a("hidden file"), one.name));
  if (has_joined_) out->add("joined", NodeType::Directory);
  return out;
}

Result<NodeStat> HiddenFiles::stat(NodeId id, StatDepth depth, RequestBudget& budget) const {
  NodeStat out;
  out.type = id == kDirectory ? NodeType::Directory : NodeType::File;
  out.ino = make_ino(fnv1a("hidden file"), id == kDirectory ? kHiddenName : file(id).name);
  if (id == kDirectory) return out;
  H5_ASSIGN(const std::uint64_t size, file(id).size(depth, budget));
  set_size(out, size);
  out.complete = !file(id).changes;
  return out;
}

Result<std::shared_ptr<OpenNode>> HiddenFiles::open(NodeId id, RequestBudget& budget) const {
  if (id == kDirectory) return fail({ErrorCode::Internal, "not a file"});
  return file(id).open(budget);
}

}  // namespace h5mount::tree
