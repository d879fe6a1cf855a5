#include "h5mount/tree/files_read.h"

#include <algorithm>

#include "h5mount/metadata/followed_file.h"

namespace h5mount::tree {

Status FilesRead::confirm_unchanged() const {
  for (const auto& file : files_) H5_TRY(file->confirm_unchanged());
  return {};
}

void FilesRead::add_other(const std::shared_ptr<metadata::FollowedFile>& file) {
  if (std::ranges::find(files_, file) == files_.end()) files_.push_back(file);
}

}  // namespace h5mount::tree
