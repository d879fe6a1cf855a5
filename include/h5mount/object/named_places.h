// NamedPlaces: where names in a file lead, for those who want to know before anything is opened. Names are
// resolved as ExternalPolicy::Beneath resolves them, but to descriptors that cannot be read (O_PATH).
// Threads: one at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/unique_fd.h"

namespace h5mount::object {

struct OpenedFile;

class NamedPlaces {
 public:
  explicit NamedPlaces(const OpenedFile& from);

  // Whether what `name` names is beneath the file's directory, or would be if it existed. A URL is not; of a
  // file that is at one, or has no directory, the text of the name decides.
  bool is_beneath(const std::string& name) const;
  // Whether there is something of that name beneath the file's directory.
  bool exists_beneath(const std::string& name) const;

  // `scheme://…`
  static bool is_url(std::string_view name);

 private:
  enum class Place { Beneath, Outside, Nowhere };
  struct Root {
    std::string path;
    UniqueFd fd;
  };
  Place place_of(const std::string& name) const;
  Place place_below(const Root& root, const std::string& relative) const;
  Place place_elsewhere(const std::string& path) const;

  std::vector<Root> roots_;  // empty: the text of names decides
  bool unopened_ = false;    // a directory could not be opened, so that nothing counts as beneath it
};

}  // namespace h5mount::object
