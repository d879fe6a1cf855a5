// What the files of AWS's tools say of profiles: ~/.aws/config and ~/.aws/credentials. Threads: any, after
// read.
#pragma once

#include <map>
#include <string>

namespace h5mount::remote {

// A variable of the environment; empty where there is none.
std::string aws_environment(const char* name);

class AwsProfiles {
 public:
  // Files that are missing or cannot be read are empty.
  static AwsProfiles read();

  bool has(const std::string& profile) const { return fields_.contains(profile); }
  // Empty where there is none. A field of a nested section is "s3.endpoint_url".
  std::string field(const std::string& profile, const std::string& name) const;
  // The endpoint of a service: of the profile's own `services` section, else the one for all.
  std::string endpoint(const std::string& profile, const std::string& service) const;

 private:
  void add(const std::string& file, bool is_config);

  std::map<std::string, std::map<std::string, std::string>> fields_;  // those of services: "services NAME"
};

}  // namespace h5mount::remote
