// S3Site: answers requests as Amazon S3 does; each source is a bucket. Independent of the library that
// carries the messages. Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "s3_access.h"
#include "s3_list.h"

namespace h5mount::serve {

// The names of buckets for the names of sources: letters become lower case, characters that a bucket's name
// cannot have become `-`, equal names get `-2`, `-3`…
std::vector<std::string> bucket_names(const std::vector<std::string>& names);

class S3Site {
 public:
  // `loopback`: without a key, the Host field must be a loopback name or one of the server's own.
  S3Site(S3Options options, bool loopback, std::vector<SourceToServe> sources);

  // May take as long as reading the files takes. An answer to HEAD has the body that GET would have.
  Answer answer(const Request& request, RequestWork& work);
  // The answer to an error that ended the work on another one.
  Answer failed(const Request& request, const Answer& instead_of, const Error& error);

 private:
  struct Place {
    std::string bucket, key;  // empty if the path names none
  };
  Answer answer_valid(const Request& request, RequestWork& work);
  bool is_own_host(std::string_view host) const;
  Place place_of(std::string_view host, std::string_view path) const;
  Answer answer_bucket(const Request& request, S3Bucket& bucket, const Fields& query,
                       std::string_view resource, RequestWork& work);
  Answer list_buckets() const;
  void add_common(Answer& answer);

  const S3Options options_;
  const bool loopback_;
  const std::int64_t started_;  // seconds since 1970
  std::vector<std::unique_ptr<S3Bucket>> buckets_;
  std::atomic<std::uint64_t> requests_ = 0;
};

}  // namespace h5mount::serve
