// The text of a page of a bucket's keys, as S3's ListObjectsV2 answers. Threads: a pure function.
#pragma once

#include <string_view>

#include "h5mount/remote/remote.h"

namespace h5mount::remote {

// `prefix` is the requested one, with which all keys must begin. Fails with Io if the text is no such page.
Result<ListedPage> parse_listing(std::string_view xml, std::string_view prefix);

}  // namespace h5mount::remote
