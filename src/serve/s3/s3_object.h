// HeadObject and GetObject. Threads: any.
#pragma once

#include "s3_list.h"

namespace h5mount::serve {

// `key` is decoded.
Answer object_answer(const Request& request, S3Bucket& bucket, std::shared_ptr<const Snapshot> snapshot,
                     const std::string& key, const Fields& query, std::string_view resource,
                     RequestWork& work);

}  // namespace h5mount::serve
