#include "hidden_files.h"

#include <algorithm>

#include "../core/inode_numbers.h"
#include "../core/name_list.h"
#include "../core/open_files.h"
#include "../objects/object_facts.h"
#include "../views/virtual_directories.h"
#include "h5mount/base/log.h"
#include "h5mount/tree/hidden_entries.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

constexpr std::string_view kAboutForest =
    "Each HDF5 file is a directory under its whole name. Here is what belongs to no file:\n\n"
    "log                        the mount's last thousand messages\n"
    "status                     the mount's counters\n\n"
    "Each file's own directory has a directory .h5, which is not listed either.\n\n";

}  // namespace

HiddenFiles::HiddenFiles(std::function<std::string()> status) {
  const auto readme = std::make_shared<const std::string>(std::string(kAboutForest) + hidden_entries_text());
  files_.push_back(
      {"README", [readme] { return readme->size(); }, [readme] { return open_text(readme); }, false});
  files_.push_back({"log",
                    [] {
                      const KeptLog kept = kept_log();
                      return kept.end - kept.begin;
                    },
                    [] { return open_log(); }, true});
  if (!status) return;
  files_.push_back({"status", [status] { return status().size(); },
                    [status] { return open_text(std::make_shared<const std::string>(status()), false); },
                    true});
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
  return out;
}

NodeStat HiddenFiles::stat(NodeId id) const {
  NodeStat out;
  out.type = id == kDirectory ? NodeType::Directory : NodeType::File;
  out.ino = make_ino(fnv1a("hidden file"), id == kDirectory ? kHiddenName : file(id).name);
  if (id == kDirectory) return out;
  set_size(out, file(id).size());
  out.complete = !file(id).changes;
  return out;
}

Result<std::shared_ptr<OpenNode>> HiddenFiles::open(NodeId id) const {
  if (id == kDirectory) return fail({ErrorCode::Internal, "not a file"});
  return file(id).open();
}

}  // namespace h5mount::tree
