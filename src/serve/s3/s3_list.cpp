#include "s3_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "../source/tags.h"
#include "h5mount/base/log.h"
#include "h5mount/base/text.h"
#include "s3_answers.h"
#include "s3_walk.h"

namespace h5mount::serve {
namespace {

constexpr std::size_t kMaxKeys = 1000;
constexpr std::chrono::milliseconds kPageTime{1000};
// The size of a file that cannot be read or measured: a reader of it gets the error, and nobody takes it
// for empty.
constexpr std::uint64_t kUnknownSize = 1;
constexpr std::string_view kTokenBegin = "k";  // a token is never empty
// The tag of a key without one: clients expect a tag for every key (mountpoint-s3 accepts no page without).
// As it is weak, it matches nothing.
constexpr std::string_view kNoTag = "W/\"none\"";

struct ListQuery {
  bool second = false;  // ListObjectsV2
  std::string prefix, delimiter;
  std::string marker, token;  // as they were in the query
  std::string after;          // the last key, or common prefix, of the page before
  std::size_t most = kMaxKeys;
  bool url = false, owner = false;
};

std::string text_of(const Fields& query, std::string_view name) {
  const std::string* const value = find_parameter(query, name);
  return value ? *value : std::string();
}

std::string token_of(std::string_view after) {
  return std::string(kTokenBegin) + to_hex(after);
}

std::optional<std::string> read_token(std::string_view token) {
  if (!token.starts_with(kTokenBegin) || token.size() % 2 != 1) return std::nullopt;
  std::string out;
  for (std::size_t i = kTokenBegin.size(); i < token.size(); i += 2) {
    const auto byte = parse_hex_byte(token.substr(i));
    if (!byte) return std::nullopt;
    out += *byte;
  }
  return out;
}

// An error is the message of an invalid argument.
std::expected<ListQuery, std::string> read_query(const Fields& query) {
  ListQuery out;
  out.second = text_of(query, "list-type") == "2";
  out.prefix = text_of(query, "prefix");
  out.delimiter = text_of(query, "delimiter");
  out.marker = text_of(query, out.second ? "start-after" : "marker");
  out.token = out.second ? text_of(query, "continuation-token") : std::string();
  out.after = out.marker;
  out.owner = !out.second || text_of(query, "fetch-owner") == "true";
  if (const std::string encoding = text_of(query, "encoding-type"); !encoding.empty()) {
    if (encoding != "url") return std::unexpected("Invalid Encoding Method specified in Request");
    out.url = true;
  }
  if (const std::string most = text_of(query, "max-keys"); !most.empty()) {
    const auto number = parse_whole<int>(most);
    if (number.value_or(-1) < 0) return std::unexpected("max-keys is no number from 0 to 2147483647");
    out.most = std::min(kMaxKeys, static_cast<std::size_t>(*number));
  }
  if (!out.token.empty()) {
    const auto after = read_token(out.token);
    if (!after) return std::unexpected("The continuation token provided is incorrect");
    out.after = *after;
  }
  return out;
}

class Page {
 public:
  Page(S3Bucket& bucket, std::shared_ptr<const Snapshot> snapshot, ListQuery query, RequestWork& work)
      : bucket_(bucket),
        snapshot_(std::move(snapshot)),
        query_(std::move(query)),
        work_(work),
        walk_(snapshot_, bucket.orders, query_.prefix, query_.delimiter != "/"),
        after_(query_.after) {}

  Result<std::string> make() {
    if (query_.most == 0) return text();
    const Status filled = fill();
    // Keys that were listed before an error are returned; a client that continues from there meets the error.
    if (!filled && count_ == 0) return fail(filled.error());
    truncated_ = truncated_ || !filled;
    H5_TRY(walk_.confirm_unchanged());
    return text();
  }

 private:
  Status fill() {
    H5_TRY(seek_behind(query_.after));
    for (;;) {
      H5_ASSIGN(std::optional<WalkedKey> found, walk_.next(work_));
      if (!found) return {};
      truncated_ = count_ == query_.most || is_used_up();
      if (truncated_) return {};
      const std::size_t place = query_.delimiter.empty()
                                    ? std::string::npos
                                    : found->key.find(query_.delimiter, query_.prefix.size());
      if (place == std::string::npos) {
        H5_TRY(add_key(*found));
        continue;
      }
      after_ = found->key.substr(0, place + query_.delimiter.size());
      prefixes_ += "<CommonPrefixes>" + xml_element("Prefix", shown(after_)) + "</CommonPrefixes>";
      ++count_;
      if (found->key != after_ || !found->directory) H5_TRY(seek_behind(after_));
    }
  }

  // Whether the page should end because it has taken long. The first key is always on it, so that every page
  // makes progress.
  bool is_used_up() const {
    return count_ > 0 &&
           (work_.job_age() > kPageTime || contents_.size() + prefixes_.size() > work_.most_text());
  }

  // Continues behind `after`. All keys of one common prefix are passed together.
  Status seek_behind(const std::string& after) {
    if (after.empty()) return walk_.seek("", work_);
    const std::size_t place = query_.delimiter.empty() || !after.starts_with(query_.prefix)
                                  ? std::string::npos
                                  : after.find(query_.delimiter, query_.prefix.size());
    if (place == std::string::npos) return walk_.seek(after + '\0', work_);
    const std::string from = behind(after.substr(0, place + query_.delimiter.size()));
    return walk_.seek(from.empty() ? std::string(kMaxKey + 1, '\xFF') : from, work_);
  }

  Status add_key(const WalkedKey& found) {
    std::uint64_t size = kUnknownSize;
    std::string etag;
    if (found.trouble) {
      log(LogLevel::Warning, "serve: {}/{}: {}", bucket_.name, escape_for_log(found.key),
          found.trouble->text());
    } else if (auto measured = measure(found)) {
      size = *measured;
      etag = tag(found);
    } else if (!is_passed_over(measured.error())) {
      return fail(measured.error());
    }
    contents_ += "<Contents>" + xml_element("Key", shown(found.key)) +
                 xml_element("LastModified", xml_date(std::max(snapshot_->modified, found.stat.mtime)));
    contents_ += xml_element("ETag", etag.empty() ? kNoTag : std::string_view(etag));
    contents_ += xml_element("Size", fmt::format("{}", size));
    if (query_.owner) contents_ += "<Owner><ID>h5mount</ID><DisplayName>h5mount</DisplayName></Owner>";
    contents_ += "<StorageClass>STANDARD</StorageClass></Contents>";
    after_ = found.key;
    ++count_;
    return {};
  }

  // Whether a key whose size is not known is on the page: not where that failed for a moment, as a client
  // would keep the size; but a key that takes too long each time must not end every page.
  bool is_passed_over(const Error& error) const {
    if (!is_passing(error) || is_held_by_writer(error)) return true;
    return count_ == 0 && (error.code() == ErrorCode::TimedOut || error.code() == ErrorCode::BudgetExceeded);
  }

  Result<std::uint64_t> measure(const WalkedKey& found) const {
    if (found.key.ends_with('/')) return std::uint64_t{0};
    if (found.stat.complete) {
      const bool shown = !snapshot_->shown || snapshot_->shown(found.stat);
      return shown ? found.stat.size : std::max(found.stat.size, kUnknownSize);
    }
    H5_ASSIGN(const tree::NodeStat stat,
              snapshot_->tree->stat(found.node.id(), tree::StatDepth::Size, work_.budget()));
    return stat.size;
  }

  std::string tag(const WalkedKey& found) const {
    if (found.key.ends_with('/')) return {};
    std::shared_ptr<const Snapshot> snapshot = snapshot_;
    if (snapshot->many) {
      const auto file = snapshot->tree->file_of(found.node.id(), work_.budget());
      if (!file) return {};
      snapshot = bucket_.source.of_file(std::move(snapshot), *file);
    }
    return tag_of(*snapshot, found.node.id(), {}, work_.budget());
  }

  std::string shown(std::string_view text) const {
    return query_.url ? encode_path(text) : std::string(text);
  }

  std::string text() const {
    std::string out =
        fmt::format("<ListBucketResult xmlns=\"{}\">{}{}", kS3Namespace, xml_element("Name", bucket_.name),
                    xml_element("Prefix", shown(query_.prefix)));
    if (!query_.delimiter.empty()) out += xml_element("Delimiter", shown(query_.delimiter));
    out += xml_element("MaxKeys", fmt::format("{}", query_.most));
    if (query_.url) out += xml_element("EncodingType", "url");
    out += query_.second ? second_text() : first_text();
    out += xml_element("IsTruncated", truncated_ ? "true" : "false");
    return out + contents_ + prefixes_ + "</ListBucketResult>";
  }

  std::string first_text() const {
    std::string out = xml_element("Marker", shown(query_.marker));
    // Without a delimiter clients may also continue from the last key.
    if (truncated_) out += xml_element("NextMarker", shown(after_));
    return out;
  }

  std::string second_text() const {
    std::string out = xml_element("KeyCount", fmt::format("{}", count_));
    if (!query_.marker.empty()) out += xml_element("StartAfter", shown(query_.marker));
    if (!query_.token.empty()) out += xml_element("ContinuationToken", query_.token);
    if (truncated_) out += xml_element("NextContinuationToken", token_of(after_));
    return out;
  }

  S3Bucket& bucket_;
  const std::shared_ptr<const Snapshot> snapshot_;
  const ListQuery query_;
  RequestWork& work_;
  KeyWalk walk_;
  std::string after_, contents_, prefixes_;
  std::size_t count_ = 0;
  bool truncated_ = false;
};

}  // namespace

Answer list_objects(S3Bucket& bucket, std::shared_ptr<const Snapshot> snapshot, const Fields& query,
                    std::string_view resource, RequestWork& work) {
  auto wanted = read_query(query);
  if (!wanted) return s3_error_answer(S3Error{400, "InvalidArgument", wanted.error()}, resource);
  auto text = Page(bucket, std::move(snapshot), *std::move(wanted), work).make();
  return text ? xml_answer(*std::move(text)) : s3_error_answer(text.error(), resource);
}

}  // namespace h5mount::serve
