#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "h5mount/base/text.h"
#include "references.h"

namespace h5mount::front {

namespace {

using Json = nlohmann::json;

// Takes the members of `refs` as they come: there may be millions.
class JsonReader {
 public:
  explicit JsonReader(ReferenceVisitor& visitor) : visitor_(visitor) {}

  Status result() && { return failed_ ? Status(fail(*std::move(failed_))) : Status(); }

  // The interface of nlohmann::json_sax.
  bool null() { return other(); }
  bool boolean(bool) { return other(); }
  bool number_integer(Json::number_integer_t value) {
    return value < 0 ? other() : number(static_cast<std::uint64_t>(value));
  }
  bool number_unsigned(Json::number_unsigned_t value) { return number(value); }
  bool number_float(Json::number_float_t, const Json::string_t&) { return other(); }
  bool binary(Json::binary_t&) { return other(); }
  bool string(Json::string_t& value) {
    if (depth_ == 1 && member_ == "h5mount") return check(read_files(value, visitor_));
    if (depth_ == 2 && in_refs_ && !in_list_) {
      if (is_metadata_key(key_)) {
        const Json parsed = Json::parse(value, nullptr, false);
        if (parsed.is_discarded()) return bad("text of metadata that is no JSON");
        return check(visitor_.visit_metadata(key_, parsed.dump()));
      }
      constexpr std::string_view kBase64 = "base64:";
      if (!value.starts_with(kBase64)) return check(visitor_.visit_held(key_, value));
      return check(visitor_.visit_held(key_, from_base64(std::string_view(value).substr(kBase64.size()))));
    }
    if (!in_list_) return other();
    if (!url_.empty() || value.empty()) return bad("a reference that is no URL, offset and length");
    url_ = std::move(value);
    return true;
  }
  bool start_object(std::size_t) {
    if (in_list_ || depth_ > 1 || (depth_ == 1 && member_ != "refs")) return bad(unknown());
    if (depth_ == 1) in_refs_ = seen_ = true;
    ++depth_;
    return true;
  }
  bool end_object() {
    --depth_;
    in_refs_ = false;
    return depth_ > 0 || seen_ || bad("no references");
  }
  bool key(Json::string_t& value) {
    (depth_ == 1 ? member_ : key_) = std::move(value);
    return true;
  }
  bool start_array(std::size_t) {
    if (!in_refs_ || in_list_) return bad(unknown());
    in_list_ = true;
    url_.clear();
    numbers_ = 0;
    return true;
  }
  bool end_array() {
    in_list_ = false;
    if (url_.empty() || numbers_ != 2) return bad("a reference that is no URL, offset and length");
    return check(visitor_.visit_range(key_, url_, number_[0], number_[1]));
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) {
    return bad(fmt::format("no JSON at byte {}", position));
  }

 private:
  bool number(std::uint64_t value) {
    if (!in_list_) return other();
    if (numbers_ == 2) return bad("a reference that is no URL, offset and length");
    number_[numbers_++] = value;
    return true;
  }
  bool other() { return (depth_ == 1 && member_ == "version") || bad(unknown()); }
  std::string unknown() const {
    return fmt::format("a form of references that is not known, at {}", member_);
  }
  bool bad(std::string why) { return check(fail({ErrorCode::InvalidValue, std::move(why)})); }
  bool check(Status status) {
    if (!status && !failed_) failed_ = std::move(status).error();
    return !failed_;
  }

  ReferenceVisitor& visitor_;
  std::optional<Error> failed_;
  unsigned depth_ = 0;
  bool in_refs_ = false, in_list_ = false, seen_ = false;
  std::string member_, key_, url_;
  std::uint64_t number_[2] = {};
  unsigned numbers_ = 0;
};

}  // namespace

bool is_metadata_key(std::string_view key) {
  const std::string_view name = key.substr(key.rfind('/') + 1);
  return name == ".zarray" || name == ".zgroup" || name == ".zattrs" || name == ".zmetadata";
}

Status read_files(std::string_view text, ReferenceVisitor& visitor) {
  const Json files = Json::parse(text, nullptr, false);
  const Error bad(ErrorCode::InvalidValue, "a list of files that is not as h5mount writes it");
  if (!files.is_array()) return fail(bad);
  for (const Json& one : files) {
    if (!one.is_object() || !one.contains("url") || !one["url"].is_string() || !one.contains("size") ||
        !one["size"].is_number_unsigned())
      return fail(bad);
    ReferencedFile file{one["url"].get<std::string>(), one["size"].get<std::uint64_t>()};
    if (one.contains("mtime") && one["mtime"].is_number()) file.modified = one["mtime"].dump();
    if (one.contains("etag") && one["etag"].is_string()) file.entity_tag = one["etag"].get<std::string>();
    H5_TRY(visitor.visit_file(file));
  }
  return {};
}

Status read_json_references(std::string_view text, ReferenceVisitor& visitor) {
  JsonReader reader(visitor);
  (void)Json::sax_parse(text, &reader);
  return std::move(reader).result();
}

}  // namespace h5mount::front
