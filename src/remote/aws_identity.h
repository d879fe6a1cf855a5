// Who asks S3: the credentials, region and endpoint that AWS's own tools would use. Threads: any.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/remote/remote.h"
#include "h5mount/sign/signature_v4.h"

namespace h5mount::remote {

class AwsIdentity {
 public:
  explicit AwsIdentity(const Options& options);

  // Where an object is, in the region that is known by now.
  Url place_of(const Url& s3) const;
  // Signs a GET of `url`, whose headers it is given. Nothing is added where there are no credentials.
  Result<sign::Fields> sign(const Url& url, std::int64_t now) const;

  // The server has named another region.
  void set_region(const std::string& region);
  std::string region() const;

 private:
  const Options options_;
  std::string endpoint_;
  mutable Mutex mutex_;
  std::string region_ H5_GUARDED_BY(mutex_);
  std::optional<sign::Credentials> credentials_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::remote
