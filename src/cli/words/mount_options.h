// The options after -o: `name`, `name=value`, separated by commas; a backslash escapes a comma or a
// backslash, and stands for itself before anything else.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/advice.h"
#include "h5mount/base/error.h"
#include "h5mount/base/log.h"
#include "h5mount/check/policy.h"
#include "h5mount/fuse/session.h"
#include "h5mount/object/file_set.h"
#include "h5mount/remote/remote.h"
#include "h5mount/tree/tree.h"
#include "join_words.h"

namespace h5mount::cli {

enum class Swmr : std::uint8_t { Auto, On, Off };

struct MountOptions {
  std::vector<std::string> for_libfuse;  // allow_other, noexec, auto_unmount…
  bool allow_other = false;              // or allow_root
  bool default_permissions = false;      // given by the user
  std::optional<std::uint32_t> uid, gid;
  std::uint32_t file_umask = 0, directory_umask = 0;
  std::string fsname;  // empty: the file
  std::string subtype = "h5mount";
  std::uint32_t max_read = 0;
  std::optional<std::uint64_t> cache_bytes;
  std::optional<unsigned> threads;
  std::optional<object::ExternalPolicy> external;
  std::vector<std::string> external_directories;  // absolute, without symlinks
  bool completes_sets = true;                     // as object::ExternalAccess has it
  std::string policy_word;
  std::shared_ptr<const check::Policy> policy;  // by which files are judged before they are shown; null: none
  Swmr swmr = Swmr::Auto;
  bool force = false;
  SalvageMode salvage = SalvageMode::Off;
  bool salvage_far = false;
  bool survive = false;               // another process goes on when this one ends
  std::chrono::seconds patience{30};  // with survive, after an upgrade: how long until the new program serves
  bool reload = false;                // a replaced file is reopened
  std::optional<std::size_t> max_open;  // source files that are open at once
  std::optional<JoinWords> join_words;
  std::optional<join::Options> join;  // how many files are joined; nullopt: they are not
  bool passthrough = false;           // of a directory, other files are shown too
  std::string catalogue;              // directory, absolute: what is remembered of files; empty: nothing
  std::string match;                  // which files of a directory are HDF5; empty: by their extensions
  std::vector<std::string> plugins;   // directories of filter plugins, absolute
  remote::Options remote;             // of URLs
  tree::ReferenceOptions references;  // what references.* tell
  std::optional<LogLevel> log_level;
};

// Fails with InvalidValue for an unknown option (unless `sloppy`, mount(8)'s -s) or an invalid value.
Result<MountOptions> parse_mount_options(const std::vector<std::string>& texts, bool sloppy);

// The options of one -o, unescaped.
std::vector<std::string> split_options(std::string_view text);

// About the options of h5mount (those that mount(8) passes for other purposes are accepted too): their forms
// for --help; the text of --help=NAME for one, empty for an unknown name; their names; and for a misspelt
// `word` (`cache_size=`) the one most likely intended, if any.
std::string mount_options_help();
std::string mount_option_help(std::string_view name);
std::vector<std::string_view> mount_option_names();
std::string meant_option(std::string_view word);

}  // namespace h5mount::cli
