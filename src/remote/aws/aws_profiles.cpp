#include "aws_profiles.h"

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "h5mount/base/text.h"

namespace h5mount::remote {
namespace {

constexpr std::size_t kMaxLines = 100'000;
constexpr std::string_view kAroundWords = " \t\r\n";

std::string file_named(const char* variable, const char* name) {
  if (std::string named = aws_environment(variable); !named.empty()) return named;
  const std::string home = aws_environment("HOME");
  return home.empty() ? home : home + "/.aws/" + name;
}

// The name of a section: "[profile NAME]" of config, "[NAME]" of credentials, "[default]" of both, "[services
// NAME]".
std::string section_name(std::string_view line, bool is_config) {
  const std::string_view name = trim(line.substr(1, line.find(']') - 1), kAroundWords);
  constexpr std::string_view kProfile = "profile ";
  if (!is_config || name == "default" || name.starts_with("services ")) return std::string(name);
  return name.starts_with(kProfile) ? std::string(trim(name.substr(kProfile.size()), kAroundWords))
                                    : std::string();
}

}  // namespace

std::string aws_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string first_of(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts)
    if (!text.empty()) return text;
  return {};
}

AwsProfiles AwsProfiles::read() {
  AwsProfiles out;
  out.add(file_named("AWS_CONFIG_FILE", "config"), true);
  out.add(file_named("AWS_SHARED_CREDENTIALS_FILE", "credentials"), false);
  return out;
}

std::string AwsProfiles::field(const std::string& profile, const std::string& name) const {
  const auto found = fields_.find(profile);
  if (found == fields_.end()) return {};
  const auto value = found->second.find(name);
  return value == found->second.end() ? std::string() : value->second;
}

std::string AwsProfiles::endpoint(const std::string& profile, const std::string& service) const {
  const std::string own = "services " + field(profile, "services");
  if (std::string of_service = field(own, service + ".endpoint_url"); !of_service.empty()) return of_service;
  return field(profile, "endpoint_url");
}

// If both files have a field, the value of the file that is added last counts, which is credentials.
void AwsProfiles::add(const std::string& file, bool is_config) {
  std::ifstream lines(file);
  std::string line, section, nested;
  for (std::size_t count = 0; count < kMaxLines && std::getline(lines, line); ++count) {
    const std::string_view text = trim(line, kAroundWords);
    if (text.empty() || text.front() == '#' || text.front() == ';') continue;
    if (text.front() == '[') {
      section = section_name(text, is_config);
      nested.clear();
      if (!section.empty()) fields_[section];
      continue;
    }
    const std::size_t equals = text.find('=');
    if (section.empty() || equals == std::string_view::npos) continue;
    const std::string name(trim(text.substr(0, equals), kAroundWords));
    const std::string value(trim(text.substr(equals + 1), kAroundWords));
    const bool indented = line.front() == ' ' || line.front() == '\t';
    if (!indented) nested = value.empty() ? name : std::string();
    fields_[section][indented && !nested.empty() ? nested + "." + name : name] = value;
  }
}

}  // namespace h5mount::remote
