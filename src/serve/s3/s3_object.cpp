#include "s3_object.h"

#include <fmt/format.h>

#include <algorithm>

#include "../http/fields.h"
#include "../site/node_answers.h"
#include "h5mount/base/text.h"
#include "s3_answers.h"

namespace h5mount::serve {
namespace {

// The limit that S3 has for the names and values of metadata together.
constexpr std::size_t kMaxMetadata = 2048;
constexpr std::string_view kUser = "user.", kFacts = "user.hdf5.";
// Facts of an object that cost nothing to find out.
constexpr std::string_view kShownFacts[] = {"user.hdf5.kind", "user.hdf5.shape", "user.hdf5.dtype"};

S3Error no_such_key() {
  return {404, "NoSuchKey", "The specified key does not exist."};
}

// Whether the text can be a key. Each file has one key only: `a//b` and `a/../b` are not keys.
bool is_key(std::string_view key) {
  std::vector<std::string_view> names = split(key, '/');
  if (names.size() > 1 && names.back().empty()) names.pop_back();  // a directory's key
  return !key.contains('\0') && std::ranges::none_of(names, [](std::string_view name) {
    return name.empty() || name == "." || name == "..";
  });
}

bool is_field_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

bool is_field_value(std::string_view value) {
  return std::ranges::all_of(value, [](char c) { return c >= ' ' && c < '\x7F'; });
}

// The attributes of the object that fit into the header, and the number of those that do not.
std::vector<Header> metadata_of(tree::Tree& tree, tree::NodeId node, RequestBudget& budget) {
  std::vector<Header> out;
  const auto names = tree.list_xattrs(node, budget);
  if (!names) return out;
  std::size_t bytes = 0, missing = 0;
  const auto add = [&](std::string_view name) {
    const auto value = tree.get_xattr(node, name, budget);
    const std::string_view shown = name.substr(kUser.size());
    if (value && is_field_name(shown) && is_field_value(*value) &&
        bytes + shown.size() + value->size() <= kMaxMetadata) {
      bytes += shown.size() + value->size();
      out.emplace_back("x-amz-meta-" + std::string(shown), *value);
    } else {
      ++missing;
    }
  };
  for (const std::string& name : *names)
    if (name.starts_with(kUser) && !name.starts_with(kFacts)) add(name);
  for (const std::string_view fact : kShownFacts)
    if (std::ranges::find(*names, fact) != names->end()) add(fact);
  if (missing > 0) out.emplace_back("x-amz-missing-meta", fmt::format("{}", missing));
  return out;
}

// Adds quotes to a tag that has none, as S3 accepts those too.
std::string quoted(const std::string& tag) {
  return tag == "*" || tag.find('"') != std::string::npos ? tag : '"' + tag + '"';
}

// The request in the form that the rest of the server answers: only one range, which HEAD may also ask for.
Request file_request(const Request& request) {
  Request out = request;
  if (out.range && out.range->contains(',')) out.range.reset();
  if (out.range) out.method = "GET";
  for (auto* const tag : {&out.conditions.if_match, &out.conditions.if_none_match})
    if (*tag) *tag = quoted(**tag);
  return out;
}

// Removes fields that refer to the tree's own paths, or tell browsers how to keep the answer.
void drop_others(Answer& answer) {
  std::erase_if(answer.headers, [](const Header& header) {
    return header.first == "Content-Location" || header.first == "Cache-Control";
  });
}

// Makes a body without a known length (the log) at once, so that it has one.
Status give_length(Answer& answer, RequestWork& work) {
  if (!answer.body || answer.body->size()) return {};
  H5_ASSIGN(std::string text, read_all(*answer.body, work));
  answer.body = make_text_body(std::move(text));
  return {};
}

std::optional<S3Error> check_query(const Request& request, const Fields& query) {
  if (const std::string* const version = find_parameter(query, "versionId");
      version && !version->empty() && *version != "null")
    return S3Error{404, "NoSuchVersion", "The specified version does not exist."};
  const std::string* const part = find_parameter(query, "partNumber");
  if (part == nullptr) return std::nullopt;
  const int number = parse_whole<int>(*part).value_or(0);
  if (number < 1 || number > 10'000)
    return S3Error{400, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive"};
  if (request.range)
    return S3Error{400, "InvalidRequest", "Cannot specify both Range header and partNumber query parameter"};
  if (number > 1) return S3Error{416, "InvalidPartNumber", "The requested partnumber is not satisfiable"};
  return std::nullopt;
}

// Makes the answer that of part 1: an object of one part is that part.
void make_part(Answer& answer) {
  const std::uint64_t size = answer.body ? answer.body->size().value_or(0) : 0;
  if (answer.status != 200 || size == 0) return;
  answer.status = 206;
  answer.add("Content-Range", fmt::format("bytes 0-{0}/{1}", size - 1, size));
}

// A directory is a key with a slash at its end if it is empty or cannot be listed; in the latter case the
// answer is the error.
Answer directory_answer(const Snapshot& snapshot, const front::FoundNode& found, std::string_view resource,
                        RequestBudget& budget) {
  const auto listing = snapshot.tree->open_directory(found.node.id(), budget);
  if (!listing) return s3_error_answer(listing.error(), resource);
  if (const auto trouble = trouble_of(*snapshot.tree, found.node.id(), **listing, budget))
    return s3_error_answer(*trouble, resource);
  if ((*listing)->size() > 0) return s3_error_answer(no_such_key(), resource);
  Answer out;
  out.add("Last-Modified", format_date(std::max(snapshot.modified, found.stat.mtime)));
  out.add("Content-Type", "application/x-directory");
  out.body = make_text_body({});
  return out;
}

}  // namespace

Answer object_answer(const Request& request, S3Bucket& bucket, std::shared_ptr<const Snapshot> snapshot,
                     const std::string& key, const Fields& query, std::string_view resource,
                     RequestWork& work) {
  const S3Error missing = no_such_key();
  if (!is_key(key)) return s3_error_answer(missing, resource);
  if (auto error = check_query(request, query)) return s3_error_answer(*error, resource);
  auto found = front::find_path(snapshot->tree, key, front::LastLink::Follow, work.budget());
  if (!found && found.error().code() == ErrorCode::NotFound) return s3_error_answer(missing, resource);
  if (!found) return s3_error_answer(found.error(), resource);
  if (snapshot->shown && !snapshot->shown(found->stat))
    return s3_error_answer(S3Error{403, "AccessDenied", "Not all who may read this source may read it."},
                           resource);
  if (found->stat.type == tree::NodeType::Directory) {
    if (!key.ends_with('/')) return s3_error_answer(missing, resource);
    return directory_answer(*snapshot, *found, resource, work.budget());
  }
  if (key.ends_with('/')) return s3_error_answer(missing, resource);
  if (snapshot->many) {
    const auto file = snapshot->tree->file_of(found->node.id(), work.budget());
    if (!file) return s3_error_answer(file.error(), resource);
    snapshot = bucket.source.of_file(std::move(snapshot), *file);
  }
  const Request asked = file_request(request);
  // Clients that read many ranges of an object need its metadata once.
  std::shared_ptr<const RecentFiles::Facts> metadata;
  if (!request.range)
    metadata = snapshot->recent->facts(found->node.id(), snapshot->version, [&] {
      return metadata_of(*snapshot->tree, found->node.id(), work.budget());
    });
  const std::string path = found->path;
  Answer out = answer_node({asked, std::move(snapshot), "./", "./", {}, path, {}, work}, *std::move(found));
  drop_others(out);
  if (out.status >= 300 && out.status != 304) return as_s3_answer(std::move(out), resource);
  if (const Status done = give_length(out, work); !done) return s3_error_answer(done.error(), resource);
  if (find_parameter(query, "partNumber")) make_part(out);
  if (metadata && (out.status == 200 || out.status == 206))
    out.headers.insert(out.headers.end(), metadata->fields.begin(), metadata->fields.end());
  return out;
}

}  // namespace h5mount::serve
