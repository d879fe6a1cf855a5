#include "listing_xml.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "h5mount/base/uri.h"
#include "xml_reader.h"

namespace h5mount::remote {
namespace {

Error no_page(std::string_view why) {
  return {ErrorCode::Io, "the answer is no list of keys: " + std::string(why)};
}

// Decodes a text that is encoded as in forms, where `+` is a space.
std::string decode_form(std::string text) {
  std::ranges::replace(text, '+', ' ');
  return decode_percent(text);
}

class PageParser {
 public:
  PageParser(std::string_view prefix, std::size_t most) : prefix_(prefix), most_(most) {}

  Result<ListedPage> parse(std::string_view xml) {
    const XmlHandler handler{
        [this](int depth, std::string_view name) { begin(depth, name); },
        [this](int depth, std::string_view name, const std::string& text) { end(depth, name, text); }};
    if (const Status read = read_xml(xml, handler); !read) return fail(no_page(read.error().text()));
    if (!listing_) return fail(no_page("it is another document"));
    if (names_.size() > most_)
      return fail(no_page(fmt::format("it has more than the {} names asked for", most_)));
    if (goes_on_ && page_.next.empty()) return fail(no_page("it does not say where it goes on"));
    if (!goes_on_) page_.next.clear();
    if (encoding_ == "url")
      for (Named& one : names_) one.key = decode_form(std::move(one.key));
    for (Named& one : names_) H5_TRY(add(std::move(one)));
    return std::move(page_);
  }

 private:
  struct Named {
    std::string key;
    ListedName rest;
  };

  // Elements are identified by their place: "Key" in "Contents" in "ListBucketResult".
  void begin(int depth, std::string_view element) {
    if (depth == 1) listing_ = element == "ListBucketResult";
    if (depth != 2) return;
    part_ = element;
    // One name too many suffices to refuse the page.
    if ((element == "Contents" || element == "CommonPrefixes") && names_.size() <= most_)
      names_.emplace_back();
  }

  void end(int depth, std::string_view element, const std::string& text) {
    if (depth == 2) end_of_page_field(element, text);
    if (depth == 3) end_of_name_field(element, text);
  }

  void end_of_page_field(std::string_view element, const std::string& text) {
    if (element == "IsTruncated") goes_on_ = text == "true";
    if (element == "NextContinuationToken") page_.next = text;
    if (element == "EncodingType") encoding_ = text;
  }

  void end_of_name_field(std::string_view element, const std::string& text) {
    if (part_ == "CommonPrefixes" && element == "Prefix") {
      names_.back().key = text;
      names_.back().rest.directory = true;
    }
    if (part_ != "Contents") return;
    Named& one = names_.back();
    if (element == "Key") one.key = text;
    if (element == "ETag") one.rest.entity_tag = text;
    if (element == "LastModified") one.rest.modified = seconds_of_time(text);
    if (element == "Size") std::from_chars(text.data(), text.data() + text.size(), one.rest.size);
  }

  Status add(Named one) {
    if (!one.key.starts_with(prefix_)) return fail(no_page("a key does not begin as was asked for"));
    one.rest.name = one.key.substr(prefix_.size());
    if (one.rest.directory) {
      if (!one.rest.name.ends_with('/')) return fail(no_page("a common prefix does not end in '/'"));
      one.rest.name.pop_back();
    }
    if (one.rest.name.contains('/')) return fail(no_page("a key lies deeper than was asked for"));
    page_.names.push_back(std::move(one.rest));
    return {};
  }

  const std::string prefix_;
  const std::size_t most_;
  ListedPage page_;
  std::vector<Named> names_;
  std::string part_, encoding_;
  bool listing_ = false, goes_on_ = false;
};

}  // namespace

Result<ListedPage> parse_listing(std::string_view xml, std::string_view prefix, std::size_t most) {
  return PageParser(prefix, most).parse(xml);
}

}  // namespace h5mount::remote
