#include "external_files.h"

#include "h5mount/base/limits.h"
#include "h5mount/view/names.h"
#include "node.h"

namespace h5mount {

namespace {

constexpr unsigned kDepth = 3;  // .h5, external, the file's name
constexpr std::string_view kInoSeed = "external file";

}  // namespace

void ExternalFiles::remember(std::string_view name) {
  std::string shown = encode_name(name);
  if (!may_be_cut(shown)) return;
  const std::lock_guard lock(mutex_);
  if (cut_names_.size() < limits::kMaxRememberedNames) cut_names_.emplace(std::move(shown), name);
}

Result<FileViewPtr> ExternalFiles::open(const ViewContextPtr& context, std::string_view shown) {
  std::optional<std::string> name = decode_name(shown);
  {
    const std::lock_guard lock(mutex_);
    if (const auto cut = cut_names_.find(std::string(shown)); cut != cut_names_.end()) name = cut->second;
    if (!name) return fail({ErrorCode::NotFound, "no such file"});
    if (const auto known = files_.find(*name); known != files_.end())
      if (FileViewPtr file = known->second.lock()) return file;
  }
  FileSet& files = *context->environment.files;
  H5_ASSIGN(OpenedFilePtr opened, files.open_hdf5(files.main(), *name));
  const auto made = std::make_shared<FileView>(context, std::move(opened), kDepth, make_ino(fnv1a(kInoSeed), *name));
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<FileView>& slot = files_[*name];
  if (FileViewPtr other = slot.lock()) return other;
  slot = made;
  return made;
}

}  // namespace h5mount
