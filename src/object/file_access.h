// FileAccess opens the files of a mount under the user's policy: names given by the user, members of a set
// named by a file, and other files named by a file.
//
// Threads: any, after allow_own_directories. Sources that can be reopened share ownership.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "confined_open.h"
#include "h5mount/io/byte_source.h"
#include "h5mount/object/external_access.h"
#include "h5mount/object/source_directory.h"

namespace h5mount::object {

using FileIdentity = std::pair<dev_t, ino_t>;

// An open regular file and the path where it was found.
struct FoundFile {
  UniqueFd fd;
  std::string path;       // absolute, as it was searched
  std::string real_path;  // without symlinks
  FileIdentity identity{};
  FileAttributes attributes;
  io::ReopenFile reopen;
};

// The directories where names in a file are searched.
struct NamingFile {
  std::string directory;         // of the name by which the file was opened; empty for a file without one
  std::string target_directory;  // of that name's target if it is a symlink; else empty
};

class FileAccess : public std::enable_shared_from_this<FileAccess> {
 public:
  // `within`: names given by the user are those of files below it, which are opened without leaving it; null:
  // such a name may be that of any file.
  explicit FileAccess(ExternalAccess options, std::shared_ptr<const SourceDirectory> within = nullptr)
      : options_(std::move(options)), within_(std::move(within)) {}

  const ExternalAccess& options() const { return options_; }
  const std::shared_ptr<const SourceDirectory>& within() const { return within_; }

  // Sets the directories that Beneath allows, which are free of symlinks (empty ones are ignored), and the
  // listed ones. Must be called before open_member and open_named.
  void allow_own_directories(const std::vector<std::string>& directories);

  // Opens a name given by the user, without confinement. `path` is absolute. `first`: attributes of the first
  // member of the set, null for that member itself.
  Result<FoundFile> open_user_path(const std::string& path, const FileAttributes* first) const;
  // Opens a member of a set whose name comes from the first member, following no symlinks. `first`:
  // attributes of the first member.
  Result<FoundFile> open_member(const std::string& path, const FileAttributes& first) const;
  // Fails with AccessDenied if the policy forbids it (the message names the option that would allow it), and
  // with NotFound.
  Result<FoundFile> open_named(const NamingFile& from, const std::string& name, NameUse use) const;

 private:
  struct Root {
    std::string path;
    // Null: the directory is below `within_` and is opened when it is used, as there may be many of them.
    std::shared_ptr<const UniqueFd> directory;  // with O_PATH, so that renaming it has no effect
  };
  struct Beneath {
    const Root* root;
    std::string relative;
  };

  std::vector<std::string> candidates(const NamingFile& from, const std::string& name, NameUse use) const;
  std::vector<std::string> prefixes(const NamingFile& from, NameUse use) const;
  Result<FoundFile> open_path(const std::string& path) const;
  Result<UniqueFd> open_confined(const std::string& path) const;
  Result<UniqueFd> open_member_file(const std::string& path) const;
  bool may_lead_elsewhere() const;
  std::optional<Beneath> find_root(const std::string& path) const;
  Error refused(const std::string& path) const;
  std::optional<std::string> path_within(const std::string& path) const;
  Result<std::shared_ptr<const UniqueFd>> directory_of(const Root& root) const;

  const ExternalAccess options_;
  const std::shared_ptr<const SourceDirectory> within_;
  std::vector<Root> roots_;
};

}  // namespace h5mount::object
