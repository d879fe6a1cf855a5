// The text of a page of a bucket's keys, as S3's ListObjectsV2 answers. Threads: a pure function.
#pragma once

#include <string_view>

#include "h5mount/remote/remote.h"

namespace h5mount::remote {

// `prefix`: what was asked for, which all keys must begin with. Errors: Io, for what is no such page.
Result<ListedPage> parse_listing(std::string_view xml, std::string_view prefix);

}  // namespace h5mount::remote
