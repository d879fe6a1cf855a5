// Where S3 is asked: the region and endpoint that AWS's own tools would use, and what is signed for them.
// Threads: any.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "aws_profiles.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/remote/remote.h"
#include "h5mount/sign/signature_v4.h"
#include "transfers.h"

namespace h5mount::remote {

class AwsIdentity {
 public:
  AwsIdentity(const Options& options, const AwsProfiles& profiles);

  // Where an object is, in the region that is known by now.
  Url place_of(const Url& s3) const;
  // The header fields of a GET of `url`; it is not signed where there are no credentials.
  Result<sign::Fields> sign(const Url& url, const std::optional<sign::Credentials>& credentials,
                            std::int64_t now) const;
  // Empty where nobody says which.
  const std::string& configured_region() const { return configured_; }

  // Whether an answer says that the bucket is in another region, which is then known.
  bool take_region(const HttpAnswer& answer);

 private:
  std::string region() const;
  const Options options_;
  std::string endpoint_, configured_;
  mutable Mutex mutex_;
  std::string region_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::remote
