// The region and endpoint that S3's requests go to, as AWS's own tools would choose them, and the signatures
// for them. Threads: any.
#pragma once

#include <optional>
#include <string>

#include "../transport/transfers.h"
#include "aws_profiles.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/remote/remote.h"
#include "h5mount/sign/signature_v4.h"

namespace h5mount::remote {

class AwsIdentity {
 public:
  AwsIdentity(const Options& options, const AwsProfiles& profiles);

  // The URL of an object, in the region that is known by now.
  Url place_of(const Url& s3) const;
  // The header fields for a GET of `url`. Without credentials the request is not signed.
  Result<Fields> sign(const Url& url, const std::optional<sign::Credentials>& credentials,
                      std::int64_t now) const;
  // The region that is configured; empty if none is.
  const std::string& configured_region() const { return configured_; }

  // Whether an answer says that the bucket is in another region, which is then used.
  bool take_region(const HttpAnswer& answer);

 private:
  std::string region() const;
  const Options options_;
  std::string endpoint_, configured_;
  mutable Mutex mutex_;
  std::string region_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::remote
