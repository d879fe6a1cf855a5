#include "aws_identity.h"

#include <algorithm>

#include "h5mount/base/uri.h"

namespace h5mount::remote {
namespace {

// A region becomes a part of a host's name, so it must not lead to another host.
bool is_region(const std::string& text) {
  constexpr std::size_t kMaxLabel = 63;
  return !text.empty() && text.size() <= kMaxLabel && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace

AwsIdentity::AwsIdentity(const Options& options, const AwsProfiles& profiles) : options_(options) {
  const std::string profile = first_of({options.profile, aws_environment("AWS_PROFILE"), "default"});
  endpoint_ = first_of({options.s3_endpoint, aws_environment("AWS_ENDPOINT_URL_S3"),
                        aws_environment("AWS_ENDPOINT_URL"), profiles.endpoint(profile, "s3")});
  configured_ = region_ =
      first_of({options.s3_region, aws_environment("AWS_REGION"), aws_environment("AWS_DEFAULT_REGION"),
                profiles.field(profile, "region")});
}

std::string AwsIdentity::region() const {
  const MutexLock lock(mutex_);
  return region_.empty() ? "us-east-1" : region_;
}

bool AwsIdentity::take_region(const HttpAnswer& answer) {
  if (answer.status != 301 && answer.status != 307 && answer.status != 400 && answer.status != 403)
    return false;
  const std::string* const named = answer.field("x-amz-bucket-region");
  if (named == nullptr || *named == region() || !is_region(*named)) return false;
  const MutexLock lock(mutex_);
  region_ = *named;
  return true;
}

// The URL has the bucket in its path if the endpoint is configured, or if dots in the bucket's name would not
// fit a certificate.
Url AwsIdentity::place_of(const Url& s3) const {
  const std::string key = encode_path(s3.target);
  const bool in_path = !endpoint_.empty() || s3.host.contains('.');
  const std::string own = endpoint_.contains("://") ? endpoint_ : "https://" + endpoint_;
  const std::string amazon = "s3." + region() + ".amazonaws.com";
  std::string base = endpoint_.empty() ? "https://" + (in_path ? "" : s3.host + ".") + amazon : own;
  while (base.ends_with('/')) base.pop_back();
  return parse_url(base + (in_path ? "/" + s3.host : "") + "/" + key)
      .value_or(Url{"https", {}, {}, amazon, {}, "/"});
}

Result<Fields> AwsIdentity::sign(const Url& url, const std::optional<sign::Credentials>& credentials,
                                 std::int64_t now) const {
  Fields extra;
  if (options_.requester_pays) extra.emplace_back("x-amz-request-payer", "requester");
  if (!credentials) return extra;
  sign::Request request{"GET", decode_percent(url.target.substr(0, url.target.find('?'))), {}, {}};
  if (const std::size_t query = url.target.find('?'); query != std::string::npos)
    request.query = decode_query(url.target.substr(query + 1));
  request.headers = extra;
  request.headers.emplace_back("host", url.host + (url.port.empty() ? "" : ":" + url.port));
  H5_ASSIGN(auto added, sign::sign_headers(request, *credentials, {sign::time_text(now), region(), "s3"}));
  added.insert(added.end(), extra.begin(), extra.end());
  return added;
}

}  // namespace h5mount::remote
