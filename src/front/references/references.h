// What the readers of references share.
#pragma once

#include "h5mount/front/references.h"

namespace h5mount::front {

bool is_metadata_key(std::string_view key);
// The text that tells which files the references are of.
Status read_files(std::string_view text, ReferenceVisitor& visitor);
// A directory of references in Parquet.
Status read_parquet_references(const std::string& directory, ReferenceVisitor& visitor);

}  // namespace h5mount::front
