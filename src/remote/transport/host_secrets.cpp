#include "host_secrets.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace h5mount::remote {
namespace {

constexpr std::size_t kMaxNetrcBytes = 1U << 20;

std::string netrc_path() {
  if (const char* named = std::getenv("NETRC"); named != nullptr && *named != '\0') return named;
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : std::string(home) + "/.netrc";
}

std::string without_brackets(const std::string& host) {
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

Result<HostSecrets> HostSecrets::load(const std::string& headers_file) {
  HostSecrets out;
  out.read_netrc();
  if (!headers_file.empty()) H5_TRY(out.read_headers(headers_file));
  return out;
}

void HostSecrets::read_netrc() {
  std::ifstream file(netrc_path());
  std::string text(kMaxNetrcBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  logins_ = parse_netrc(text);
}

Status HostSecrets::read_headers(const std::string& file) {
  struct stat st = {};
  if (::stat(file.c_str(), &st) != 0) return fail(io_error(errno, "headers file " + file));
  if ((st.st_mode & 077) != 0)
    return fail(
        Error(ErrorCode::AccessDenied, "headers file " + file + " may be read by other users: chmod 600 it"));
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = line.find(' '), colon = line.find(':', std::min(space, line.size()));
    if (space == std::string::npos || colon == std::string::npos || colon == space + 1)
      return fail(Error(ErrorCode::InvalidValue,
                        "headers file " + file + ": a line is not of the form HOST NAME: VALUE"));
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    headers_.emplace(line.substr(0, space),
                     std::pair(line.substr(space + 1, colon - space - 1),
                               value == std::string::npos ? std::string() : line.substr(value)));
  }
  return {};
}

// A secret goes over TLS, or to the host that the user's own URL names by http: no server's answer sends it
// in the clear to where the user would have used https.
void HostSecrets::add(const Url& asked, const Url& hop, HttpRequest& out) const {
  if (!asked.user.empty() && asked.origin() == hop.origin()) {
    out.user = asked.user;
    out.password = asked.password;
  }
  if (hop.scheme != "https" && (asked.scheme != "http" || asked.host != hop.host)) return;
  if (out.user.empty()) {
    if (const auto found = logins_.find(without_brackets(hop.host)); found != logins_.end()) {
      out.user = found->second.user;
      out.password = found->second.password;
    }
  }
  for (const std::string& name : {hop.host, hop.host + ":" + hop.port}) {
    const auto [first, last] = headers_.equal_range(name);
    for (auto at = first; at != last; ++at) out.headers.push_back(at->second);
  }
}

}  // namespace h5mount::remote
