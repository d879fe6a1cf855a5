// The text of a page of a bucket's keys, as S3's ListObjectsV2 answers. Threads: a pure function.
#pragma once

#include <string_view>

#include "h5mount/remote/remote.h"

namespace h5mount::remote {

// `prefix` is the requested one, with which all keys must begin, and `most` the largest number of names that
// was asked for. Fails with Io if the text is no such page, or has more names.
Result<ListedPage> parse_listing(std::string_view xml, std::string_view prefix, std::size_t most);

}  // namespace h5mount::remote
