// The profiles in the files of AWS's tools: ~/.aws/config and ~/.aws/credentials. Threads: any, after read.
#pragma once

#include <initializer_list>
#include <map>
#include <string>

namespace h5mount::remote {

// A variable of the environment; empty if it is not set.
std::string aws_environment(const char* name);
// The first text that is not empty.
std::string first_of(std::initializer_list<std::string> texts);

class AwsProfiles {
 public:
  // Reads both files. A file that is missing or cannot be read counts as empty.
  static AwsProfiles read();

  bool has(const std::string& profile) const { return fields_.contains(profile); }
  // The value of a field; empty if there is none. A field of a nested section is "s3.endpoint_url".
  std::string field(const std::string& profile, const std::string& name) const;
  // The endpoint of a service: from the profile's own `services` section, else the one for all services.
  std::string endpoint(const std::string& profile, const std::string& service) const;

 private:
  void add(const std::string& file, bool is_config);

  std::map<std::string, std::map<std::string, std::string>> fields_;  // of services: "services NAME"
};

}  // namespace h5mount::remote
