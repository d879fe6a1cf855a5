// ListObjects and ListObjectsV2: a page of a bucket's keys. The token of the next page is the last key on
// this one, at which any later walk begins. Threads: any.
#pragma once

#include "../http/message.h"
#include "h5mount/base/uri.h"
#include "s3_order.h"

namespace h5mount::serve {

struct S3Bucket {
  S3Bucket(std::string bucket, SourceToServe opened) : name(std::move(bucket)), source(std::move(opened)) {}
  const std::string name;
  ServedSource source;
  OrderCache orders;
};

// The page that `query` asks for. It ends early, and says so, if it has taken long or its text is long;
// clients that continue from there miss no key.
Answer list_objects(S3Bucket& bucket, std::shared_ptr<const Snapshot> snapshot, const Fields& query,
                    std::string_view resource, RequestWork& work);

}  // namespace h5mount::serve
