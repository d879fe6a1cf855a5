#include "h5mount/remote/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "h5mount/base/text.h"
#include "h5mount/base/uri.h"

namespace h5mount::remote {
namespace {

Error bad_url(std::string_view why) {
  return Error(ErrorCode::InvalidValue, "not a URL that can be read: " + std::string(why));
}

Error bad_scheme(const std::string& scheme) {
  return bad_url("its scheme is " + scheme + ":, and none of https:, http: and s3:");
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Encodes the bytes that a request line may not contain: spaces, control bytes and bytes over 127.
std::string sendable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, text.find('#'))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte >= 0x7F)
      out += fmt::format("%{:02X}", byte);
    else
      out += c;
  }
  return out;
}

bool is_host(std::string_view host) {
  if (host.empty()) return false;
  if (host.front() == '[') {
    in6_addr address{};
    return host.back() == ']' &&
           ::inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &address) == 1;
  }
  return std::ranges::all_of(host, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

Status take_authority(std::string_view text, Url& out) {
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    const auto [user, password] = split_at(text.substr(0, at), ':');
    out.user = decode_percent(user);
    out.password = decode_percent(password);
    text.remove_prefix(at + 1);
  }
  const std::size_t behind = text.starts_with('[') ? text.find(']') : 0;
  const std::size_t colon = behind == std::string_view::npos ? behind : text.find(':', behind);
  if (colon != std::string_view::npos) {
    out.port = text.substr(colon + 1);
    if (out.port.size() > 5 || out.port.find_first_not_of("0123456789") != std::string::npos)
      return fail(bad_url("its port is no number"));
    text = text.substr(0, colon);
  }
  out.host = to_lower(text);
  if (!is_host(out.host)) return fail(bad_url("it names no host"));
  if (out.port == (out.scheme == "https" ? "443" : "80")) out.port.clear();
  return {};
}

Result<Url> parse_s3(std::string_view rest) {
  Url out;
  out.scheme = "s3";
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  out.host = rest.substr(0, slash);
  out.target = rest.substr(std::min(slash + 1, rest.size()));
  if (!is_host(out.host) || out.host.starts_with('['))
    return fail(bad_url("s3:// is followed by BUCKET/KEY"));
  if (slash == rest.size()) return fail(bad_url("s3://BUCKET has no KEY; s3://BUCKET/ is the whole bucket"));
  return out;
}

// The scheme that a reference begins with, which then is not relative (RFC 3986, 4.2); empty without one.
std::string_view scheme_of(std::string_view reference) {
  const std::size_t colon = reference.find_first_of(":/?#");
  if (colon == std::string_view::npos || colon == 0 || reference[colon] != ':') return {};
  const std::string_view scheme = reference.substr(0, colon);
  const bool sound = is_letter(scheme.front()) && std::ranges::all_of(scheme, [](char c) {
                       return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
                     });
  return sound ? scheme : std::string_view();
}

}  // namespace

std::string Url::origin() const {
  return scheme + "://" + host + (port.empty() ? "" : ":" + port);
}

std::string Url::shown() const {
  if (scheme == "s3") return "s3://" + host + "/" + target;
  return origin() + target.substr(0, target.find('?'));
}

std::string Url::sent() const {
  return origin() + target;
}

bool Url::is_prefix() const {
  return scheme == "s3" && (target.empty() || target.ends_with('/'));
}

bool is_url(std::string_view text) {
  const std::string_view scheme = scheme_of(text);
  return !scheme.empty() && text.substr(scheme.size()).starts_with("://");
}

Result<Url> parse_url(std::string_view text) {
  if (!is_url(text)) return fail(bad_url("it has no scheme"));
  const std::size_t colon = text.find("://");
  Url out;
  out.scheme = to_lower(text.substr(0, colon));
  const std::string_view rest = text.substr(colon + 3);
  if (out.scheme == "s3") return parse_s3(rest);
  if (out.scheme != "http" && out.scheme != "https") return fail(bad_scheme(out.scheme));
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  H5_TRY(take_authority(rest.substr(0, end), out));
  out.target = sendable(rest.substr(end));
  if (!out.target.starts_with('/')) out.target.insert(out.target.begin(), '/');
  return out;
}

std::string shown_url(const std::string& text) {
  if (!is_url(text)) return text;
  const auto url = parse_url(text);
  return url ? url->shown() : text.substr(0, text.find("://")) + "://…";
}

Result<Url> resolve(const Url& base, std::string_view reference) {
  if (is_url(reference)) {
    auto out = parse_url(reference);
    if (out && out->scheme == "s3") return fail(bad_url("a server's answer leads to s3://"));
    return out;
  }
  if (const std::string scheme = to_lower(scheme_of(reference)); !scheme.empty())
    return fail(scheme == "http" || scheme == "https" ? bad_url("it names no host") : bad_scheme(scheme));
  if (reference.starts_with("//")) return resolve(base, base.scheme + ":" + std::string(reference));
  Url out = base;
  out.user.clear(), out.password.clear();
  const std::string path = base.target.substr(0, base.target.find('?'));
  const std::string given = sendable(reference);
  const std::size_t query = std::min(given.find('?'), given.size());
  std::string whole = given.substr(0, query);
  if (whole.empty())
    whole = path;
  else if (!whole.starts_with('/'))
    whole = path.substr(0, path.rfind('/') + 1) + whole;
  out.target = without_dot_segments(whole) + given.substr(query);
  return out;
}

bool is_private_address(std::string_view address) {
  const std::string text(address);
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) {
    static constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    if (!std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) {
      const bool local = std::all_of(bytes.begin(), bytes.end() - 1, [](auto byte) { return byte == 0; });
      return local || (bytes[0] & 0xFE) == 0xFC || (bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80);
    }
    std::copy(bytes.begin() + 12, bytes.end(), bytes.begin());
  } else if (::inet_pton(AF_INET, text.c_str(), bytes.data()) != 1) {
    return false;
  }
  return bytes[0] == 127 || bytes[0] == 10 || bytes[0] == 0 || (bytes[0] == 172 && (bytes[1] & 0xF0) == 16) ||
         (bytes[0] == 192 && bytes[1] == 168) || (bytes[0] == 169 && bytes[1] == 254) ||
         (bytes[0] == 100 && (bytes[1] & 0xC0) == 64);
}

}  // namespace h5mount::remote
