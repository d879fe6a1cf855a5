// FileNames: the names of other files that a file has, and what the policy says of each. Threads: one at a
// time.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "../walk.h"
#include "findings.h"
#include "h5mount/object/named_places.h"

namespace h5mount::check {

class FileNames {
 public:
  FileNames(const object::OpenedFilePtr& file, const Policy& policy, Findings& findings);

  void judge(VerdictKind kind, AllowedNames allowed, const std::string& place, const std::string& name);
  // Names in which `%b` stands for any number.
  void judge_pattern(VerdictKind kind, AllowedNames allowed, const std::string& place,
                     const std::string& name);
  // The members of a set that the driver's information names, unless the user has named the set. Returns
  // whether the file is whole without them.
  bool judge_set(const metadata::FileMetadata& file);
  // Whether the name is that of the file itself. Others may be found by it where names are searched.
  bool is_own(std::string_view name) const;

 private:
  const object::NamedPlaces& places();
  bool is_beneath(const std::string& name);

  const object::OpenedFilePtr& file_;
  const Policy& policy_;
  Findings& findings_;
  std::optional<object::NamedPlaces> places_;  // made when a name is looked for
  std::unordered_map<std::string, bool> known_;
};

}  // namespace h5mount::check
