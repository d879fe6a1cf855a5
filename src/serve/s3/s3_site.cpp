#include "s3_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "../http/host.h"
#include "../site/chunk_failure.h"
#include "h5mount/base/text.h"
#include "s3_object.h"

namespace h5mount::serve {
namespace {

constexpr std::string_view kOurRegion = "us-east-1";
constexpr std::size_t kMaxBucketName = 63;

// Parameters that ask a bucket for something other than its keys.
constexpr std::string_view kOtherOfBuckets[] = {"accelerate",
                                                "acl",
                                                "analytics",
                                                "cors",
                                                "encryption",
                                                "intelligent-tiering",
                                                "inventory",
                                                "lifecycle",
                                                "logging",
                                                "metrics",
                                                "notification",
                                                "object-lock",
                                                "ownershipControls",
                                                "policy",
                                                "policyStatus",
                                                "publicAccessBlock",
                                                "replication",
                                                "requestPayment",
                                                "session",
                                                "tagging",
                                                "uploads",
                                                "versions",
                                                "website"};
constexpr std::string_view kOtherOfObjects[] = {"acl",    "attributes", "legal-hold", "retention",
                                                "select", "tagging",    "torrent",    "uploadId"};

bool asks_for_other(const Fields& query, std::span<const std::string_view> others) {
  return std::ranges::any_of(query, [&](const auto& parameter) {
    return std::ranges::find(others, parameter.first) != others.end();
  });
}

std::string bucket_name(std::string_view name) {
  std::string out;
  for (const char c : to_lower(name)) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    out += kept ? c : '-';
  }
  // The first and the last character are letters or digits.
  out.erase(0, std::min(out.find_first_not_of(".-"), out.size()));
  out.resize(std::min(out.size(), kMaxBucketName));
  out.resize(out.find_last_not_of(".-") + 1);
  return out.empty() ? "bucket" : out;
}

std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  return host.substr(0, host.ends_with(']') ? host.size() : colon);
}

// The name before the domain; nullopt if the host is not below the domain.
std::optional<std::string_view> name_below(std::string_view host, std::string_view domain) {
  if (host.size() <= domain.size() + 1) return std::nullopt;
  const std::size_t dot = host.size() - domain.size() - 1;
  if (host[dot] != '.' || !equals_ignoring_case(host.substr(dot + 1), domain)) return std::nullopt;
  return host.substr(0, dot);
}

}  // namespace

std::vector<std::string> bucket_names(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string first = bucket_name(name);
    std::string one = first;
    for (unsigned i = 2; std::ranges::find(out, one) != out.end(); ++i) {
      const std::string more = fmt::format("-{}", i);
      one = first.substr(0, kMaxBucketName - more.size()) + more;
    }
    out.push_back(one);
  }
  return out;
}

S3Site::S3Site(S3Options options, bool loopback, std::vector<SourceToServe> sources)
    : options_(std::move(options)), loopback_(loopback), started_(std::time(nullptr)) {
  std::vector<std::string> given;
  for (const SourceToServe& source : sources) given.push_back(source.name);
  const std::vector<std::string> names = bucket_names(given);
  for (std::size_t i = 0; i < sources.size(); ++i)
    buckets_.push_back(std::make_unique<S3Bucket>(names[i], std::move(sources[i])));
}

Answer S3Site::answer(const Request& request, RequestWork& work) {
  Answer out = answer_valid(request, work);
  if (asks_for_chunk(request)) {
    out.of_chunk = true;
    out = chunk_failure(request, std::move(out));
  }
  add_common(out);
  return out;
}

Answer S3Site::failed(const Request& request, const Answer& instead_of, const Error& error) {
  Answer out = s3_error_answer(of_found(error), signed_form(request).path);
  if (asks_for_chunk(request))
    out = chunk_failure(request, std::move(out), instead_of.body ? instead_of.body->size() : std::nullopt);
  add_common(out);
  return out;
}

void S3Site::add_common(Answer& answer) {
  answer.add("x-amz-request-id",
             fmt::format("{:08X}{:08X}", static_cast<std::uint32_t>(started_), ++requests_));
  // Bytes of a file must never act as a page of this server.
  answer.add("X-Content-Type-Options", "nosniff");
  answer.add("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  answer.add("Cross-Origin-Resource-Policy", "same-origin");
}

bool S3Site::is_own_host(std::string_view host) const {
  const std::string_view name = without_port(host);
  return !options_.host.empty() &&
         (equals_ignoring_case(name, options_.host) || name_below(name, options_.host).has_value());
}

S3Site::Place S3Site::place_of(std::string_view host, std::string_view path) const {
  path.remove_prefix(1);
  if (!options_.host.empty()) {
    if (const auto bucket = name_below(without_port(host), options_.host))
      return {std::string(*bucket), std::string(path)};
  }
  const auto [bucket, key] = split_at(path, '/');
  return {std::string(bucket), std::string(key)};
}

Answer S3Site::answer_valid(const Request& request, RequestWork& work) {
  if (!request.target || request.several_hosts)
    return s3_error_answer(S3Error{400, "InvalidRequest", "The request is not valid HTTP."}, {});
  const sign::Request asked = signed_form(request);
  const std::string& resource = asked.path;
  if (options_.key) {
    if (const auto error = check_signature(*options_.key, asked, std::time(nullptr)))
      return s3_error_answer(*error, resource);
  } else if (loopback_ && !is_loopback_host(request.host) && !is_own_host(request.host)) {
    return s3_error_answer(S3Error{421, "InvalidRequest",
                                   "This server is on a loopback address, where Host must be localhost, or "
                                   "the name given by --s3-host."},
                           resource);
  }
  if (request.method != "GET" && request.method != "HEAD") {
    Answer out = s3_error_answer(
        S3Error{405, "MethodNotAllowed", "The specified method is not allowed: this server only reads."},
        resource);
    out.add("Allow", "GET, HEAD");
    return out;
  }
  const Place place = place_of(request.host, asked.path);
  if (place.bucket.empty()) return list_buckets();
  const auto found = std::ranges::find(buckets_, place.bucket, [](const auto& one) { return one->name; });
  if (found == buckets_.end())
    return s3_error_answer(S3Error{404, "NoSuchBucket", "The specified bucket does not exist"}, resource);
  if (place.key.empty()) return answer_bucket(request, **found, asked.query, resource, work);
  if (asks_for_other(asked.query, kOtherOfObjects))
    return s3_error_answer(S3Error{501, "NotImplemented", "This server has objects alone."}, resource);
  auto snapshot = (*found)->source.current(work.budget());
  if (!snapshot) return s3_error_answer(snapshot.error(), resource);
  work.set_file_bytes((*snapshot)->tree->statfs().file_bytes);
  return object_answer(request, **found, *std::move(snapshot), place.key, asked.query, resource, work);
}

Answer S3Site::answer_bucket(const Request& request, S3Bucket& bucket, const Fields& query,
                             std::string_view resource, RequestWork& work) {
  if (request.method == "HEAD") {
    Answer out;
    out.add("x-amz-bucket-region", std::string(kOurRegion));
    return out;
  }
  // The empty constraint is that of the region for which S3 has no name.
  if (find_parameter(query, "location"))
    return xml_answer(fmt::format("<LocationConstraint xmlns=\"{}\"/>", kS3Namespace));
  if (find_parameter(query, "versioning"))
    return xml_answer(fmt::format("<VersioningConfiguration xmlns=\"{}\"/>", kS3Namespace));
  if (asks_for_other(query, kOtherOfBuckets))
    return s3_error_answer(S3Error{501, "NotImplemented", "This server lists keys alone."}, resource);
  auto snapshot = bucket.source.current(work.budget());
  if (!snapshot) return s3_error_answer(snapshot.error(), resource);
  work.set_file_bytes((*snapshot)->tree->statfs().file_bytes);
  return list_objects(bucket, *std::move(snapshot), query, resource, work);
}

Answer S3Site::list_buckets() const {
  std::string text = fmt::format(
      "<ListAllMyBucketsResult xmlns=\"{}\"><Owner><ID>h5mount</ID><DisplayName>h5mount</DisplayName></Owner>"
      "<Buckets>",
      kS3Namespace);
  for (const auto& bucket : buckets_)
    text += "<Bucket>" + xml_element("Name", bucket->name) + xml_element("CreationDate", xml_date(started_)) +
            "</Bucket>";
  return xml_answer(text + "</Buckets></ListAllMyBucketsResult>");
}

}  // namespace h5mount::serve
