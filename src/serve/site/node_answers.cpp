#include "node_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "../http/conditions.h"
#include "../http/representation.h"
#include "../http/url.h"
#include "../source/file_body.h"
#include "../source/object_path.h"
#include "../source/tags.h"
#include "h5mount/base/hash.h"
#include "h5mount/base/uri.h"
#include "page_answers.h"

namespace h5mount::serve {
namespace {

constexpr std::uint64_t kMeasuredBytes = 1U << 20;

// The longest value of a field that refers to another place: clients and proxies accept this many bytes.
constexpr std::size_t kMaxReference = 8000;

Answer redirect(const NodeRequest& request, const front::FoundNode& found) {
  Answer out = plain_answer(307, "the directory is at another place");
  const std::string& query = request.request.target->query;
  std::string to = request.source + encode_path(found.path);
  if (!to.ends_with('/')) to += '/';
  if (!query.empty()) to += "?" + query;
  if (to.size() > kMaxReference)
    return plain_answer(404, "the directory's own path is too long for an address");
  out.add("Location", to);
  return out;
}

// A boundary that no part's bytes contain cannot be chosen without reading them; clients go by the parts'
// lengths and this one is long enough not to occur by chance.
std::string multipart_boundary(const std::string& etag) {
  return fmt::format("h5mount-{:016x}-{:016x}", fnv1a(etag), fnv1a(etag + "boundary"));
}

class FileAnswer {
 public:
  FileAnswer(const NodeRequest& request, const front::FoundNode& found)
      : request_(request), found_(found), type_(request.snapshot->tree->media_type(found.node.id())) {}

  Answer make() {
    validators_.etag = tag_of(*request_.snapshot, found_.node.id(), {}, budget());
    // If the node has no tag, the source's date does not apply to it either, as other files may determine its
    // bytes.
    if (!validators_.etag.empty())
      validators_.modified = std::max(request_.snapshot->modified, found_.stat.mtime);
    if (auto instead = conditional_answer(request_.request, validators_)) return *std::move(instead);
    auto file = request_.snapshot->tree->open(found_.node.id(), budget());
    if (!file) return failed(file.error());
    if (!request_.snapshot->plain && !request_.snapshot->tree->lasts(found_.node.id()))
      return streamed(*std::move(file));
    const auto size = size_of(**file);
    if (!size) return failed(size.error());
    return ranged(*std::move(file), *size);
  }

 private:
  RequestBudget& budget() const { return request_.work.budget(); }

  Answer failed(const Error& error) const {
    const bool of_client = error.code() == ErrorCode::Interrupted;
    if (error.code() != ErrorCode::Stale && !of_client)
      request_.snapshot->tree->report(found_.node.id(), error);
    return error_answer(of_found(error));
  }

  // The size of the open file. Texts of the whole tree were made when they were opened, while `stat` may be
  // of a later moment, so their size is measured by reading them.
  Result<std::uint64_t> size_of(tree::OpenNode& file) const {
    if (!file.direct() || request_.snapshot->plain) {
      if (found_.stat.complete) return found_.stat.size;
      H5_ASSIGN(const tree::NodeStat stat,
                request_.snapshot->tree->stat(found_.node.id(), tree::StatDepth::Size, budget()));
      return stat.size;
    }
    for (std::uint64_t size = 0;;) {
      dataset::Pieces pieces;
      H5_TRY(file.read(size, kMeasuredBytes, pieces, budget()));
      if (pieces.total() == 0) return size;
      request_.work.gave(pieces.total());
      size += pieces.total();
    }
  }

  Answer streamed(std::shared_ptr<tree::OpenNode> file) const {
    return uncached_answer(type_, make_stream_body(request_.snapshot, std::move(file)));
  }

  Answer ranged(std::shared_ptr<tree::OpenNode> file, std::uint64_t size) const {
    const auto& range = request_.request.range;
    RangeSet set;
    if (range && request_.request.method == "GET" &&
        range_applies(request_.request.conditions.if_range, validators_, std::time(nullptr)))
      set = parse_ranges(*range, size);
    Answer out;
    if (set.kind == RangeSet::Kind::Unsatisfiable) {
      out = plain_answer(416, fmt::format("the file has {} bytes", size));
      out.add("Content-Range", fmt::format("bytes */{}", size));
      return out;
    }
    out.reads_for_head =
        request_.request.method == "HEAD" &&
        request_.snapshot->tree->get_xattr(found_.node.id(), "user.hdf5.error", budget()).has_value();
    add_validators(validators_, out);
    out.add("Accept-Ranges", "bytes");
    if (found_.path != request_.path) {
      const std::string place = request_.source + encode_path(found_.path);
      if (place.size() <= kMaxReference) out.add("Content-Location", place);
    }
    if (set.kind == RangeSet::Kind::Ignored) {
      out.add("Content-Type", std::string(type_));
      out.body = make_file_body(request_.snapshot, std::move(file), {{"", {0, size}}}, "");
      return out;
    }
    out.status = 206;
    if (set.ranges.size() > 1) return multipart(std::move(out), std::move(file), set.ranges, size);
    const Range only = set.ranges.front();
    out.add("Content-Type", std::string(type_));
    out.add("Content-Range", fmt::format("bytes {}-{}/{}", only.begin, only.end - 1, size));
    out.body = make_file_body(request_.snapshot, std::move(file), {{"", only}}, "");
    return out;
  }

  Answer multipart(Answer out, std::shared_ptr<tree::OpenNode> file, const std::vector<Range>& ranges,
                   std::uint64_t size) const {
    const std::string boundary = multipart_boundary(validators_.etag + found_.path);
    std::vector<FilePart> parts;
    parts.reserve(ranges.size());
    for (const Range range : ranges) {
      parts.push_back(
          {fmt::format("{}--{}\r\nContent-Type: {}\r\nContent-Range: bytes {}-{}/{}\r\n\r\n",
                       parts.empty() ? "" : "\r\n", boundary, type_, range.begin, range.end - 1, size),
           range});
    }
    out.add("Content-Type", "multipart/byteranges; boundary=" + boundary);
    out.body = make_file_body(request_.snapshot, std::move(file), std::move(parts),
                              fmt::format("\r\n--{}--\r\n", boundary));
    return out;
  }

  const NodeRequest& request_;
  const front::FoundNode& found_;
  const std::string_view type_;
  Validators validators_;
};

Answer page_of(const NodeRequest& request, const front::FoundNode& found, std::string plain) {
  return page_answer(request.request,
                     {request.root, std::move(plain), request.file.name, request.file.named,
                      own_path(std::string_view(found.path).substr(request.file.above))},
                     request.work);
}

Answer directory_answer(const NodeRequest& request, front::FoundNode found) {
  DirectoryForm form = directory_form(request.request);
  if (form == DirectoryForm::Page && request.file.name.empty()) form = DirectoryForm::Table;
  if (form == DirectoryForm::Page) {
    Answer out = page_of(request, found, "?plain");
    out.add("Vary", "Accept");
    return out;
  }
  const Snapshot& snapshot = *request.snapshot;
  const std::string_view variant = form == DirectoryForm::Json   ? "j"
                                   : form == DirectoryForm::Html ? "h"
                                                                 : "t";
  const std::string etag = tag_of(snapshot, found.node.id(), variant, request.work.budget());
  const bool lasts = snapshot.tree->lasts(found.node.id());
  std::string path = request.name.empty() ? found.path : front::joined_path(request.name, found.path);
  if (path.ends_with('/')) path.pop_back();  // the root of one of several sources
  auto body = make_listing(request.snapshot, std::move(found), path,
                           listing_form(form, !request.file.name.empty()), request.work);
  if (!body) return error_answer(body.error());
  const bool has_version = lasts && !etag.empty();
  auto tag = has_version ? etag : tag_of_text(*body, request.work);
  if (!tag) return error_answer(tag.error());
  return listing_answer(request.request, *std::move(body), form == DirectoryForm::Json, *std::move(tag),
                        request.work);
}

}  // namespace

ListingForm listing_form(DirectoryForm form, bool in_file) {
  return form == DirectoryForm::Json   ? ListingForm::Json
         : form == DirectoryForm::Html ? ListingForm::Html
         : in_file                     ? ListingForm::Table
                                       : ListingForm::Files;
}

DirectoryForm directory_form(const Request& request) {
  const Query& query = request.target->parameters;
  if (query.has("list")) return DirectoryForm::Json;
  const DirectoryForm for_people = has_page() ? DirectoryForm::Page : DirectoryForm::Table;
  if (query.has("page")) return for_people;
  if (query.has("plain")) return DirectoryForm::Table;
  if (request.prefers_json) return DirectoryForm::Json;
  return request.names_html ? for_people : DirectoryForm::Html;
}

Answer answer_node(const NodeRequest& request, front::FoundNode found) {
  if (found.stat.type == tree::NodeType::Directory) {
    const std::string own = found.path.empty() ? "" : found.path + "/";
    if (request.path != own) return redirect(request, found);
    return directory_answer(request, std::move(found));
  }
  const bool page = has_page() && !request.file.name.empty();
  if (page && request.request.target->parameters.has("page")) return page_of(request, found, "./?plain");
  Answer out = FileAnswer(request, found).make();
  request.snapshot->recent->keep(std::move(found.node));
  return out;
}

}  // namespace h5mount::serve
