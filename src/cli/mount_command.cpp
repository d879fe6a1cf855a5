#include "mount_command.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "background.h"
#include "exit_codes.h"
#include "h5mount/filter/plugins.h"
#include "h5mount/format/superblock.h"
#include "h5mount/fuse/session.h"
#include "release_notice.h"
#include "source_check.h"
#include "status_report.h"

namespace h5mount::cli {
namespace {

constexpr std::uint64_t kLeastCache = 32ULL << 20;
constexpr std::uint64_t kMostCacheUnasked = 1ULL << 30;

// A container's own bound, where it has one.
std::uint64_t memory_bytes() {
  const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 1L));
  std::uint64_t memory = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::ifstream bound("/sys/fs/cgroup/memory.max");
  std::uint64_t most = 0;
  if (bound >> most && most > 0) memory = std::min(memory, most);
  return memory;
}

std::uint64_t cache_bytes(const MountOptions& options) {
  if (options.cache_bytes) return *options.cache_bytes;
  return std::clamp(memory_bytes() / 4, kLeastCache, kMostCacheUnasked);
}

unsigned decoding_threads(const MountOptions& options) {
  return options.threads.value_or(std::max(std::thread::hardware_concurrency(), 1U));
}

object::ExternalAccess external_access(const MountOptions& options) {
  // With allow_other every user reads with our rights: what the file names is not opened for them unasked.
  object::ExternalAccess out(options.external.value_or(
      options.allow_other ? object::ExternalPolicy::None : object::ExternalPolicy::Beneath));
  out.directories = options.external_directories;
  out.for_others = options.allow_other;
  out.refused_types.push_back("fuse." + options.subtype);
  out.read_environment();
  return out;
}

tree::TreeOptions tree_options(const MountOptions& options, const std::shared_ptr<MountStatus>& status) {
  return {options.uid, options.gid, options.file_umask, options.directory_umask,
          [status] { return status->text(); }};
}

Result<std::shared_ptr<object::FileSet>> open_files(const MountCommand& command) {
  metadata::MetadataOptions options;
  options.force = command.options.force;
  options.follow = command.options.swmr == Swmr::On     ? metadata::Follow::Always
                   : command.options.swmr == Swmr::Auto ? metadata::Follow::Auto
                                                        : metadata::Follow::Never;
  options.keep_replaced = command.options.reload;
  return object::FileSet::open(command.file, external_access(command.options), options);
}

// The file's name as it means the same from every working directory, symlinks in it as they are: they may
// lead to another file when it is opened again.
MountCommand at_any_place(MountCommand command) {
  std::error_code trouble;
  const auto absolute = std::filesystem::absolute(command.file, trouble);
  if (!trouble) command.file = absolute;
  return command;
}

Result<std::shared_ptr<tree::Tree>> make_tree(MountCommand command, std::shared_ptr<object::FileSet> files,
                                              std::shared_ptr<cache::BlockCache> cache,
                                              const std::shared_ptr<MountStatus>& status) {
  dataset::ReadEnvironment environment;
  environment.files = std::move(files);
  environment.cache = std::move(cache);
  environment.workers = std::make_shared<cache::WorkerPool>(decoding_threads(command.options));
  const tree::TreeOptions options = tree_options(command.options, status);
  status->set_files(environment.files);
  const auto again = [command, status, cache = environment.cache,
                      workers = environment.workers]() -> Result<tree::Tree::Source> {
    H5_ASSIGN(auto opened, open_files(command));
    status->set_files(opened);
    return tree::Tree::Source{{cache, workers, std::move(opened)}, tree_options(command.options, status)};
  };
  H5_ASSIGN(auto tree, command.options.reload ? tree::Tree::make_reloading({environment, options}, again)
                                              : tree::Tree::make(environment, options));
  H5_TRY(tree->stat(tree::kRootNode, tree::StatDepth::Listing));
  return tree;
}

// Not where only the mounter comes in, and the bits would refuse him nothing: he could open the file itself.
bool permissions_matter(const MountOptions& options) {
  const bool masked = options.file_umask != 0 || options.directory_umask != 0;
  return options.allow_other || options.default_permissions || (masked && ::geteuid() != 0);
}

fuse::SessionOptions session_options(const MountCommand& command) {
  fuse::SessionOptions out;
  out.mountpoint = command.mountpoint;
  out.source = command.options.fsname.empty() ? command.file : command.options.fsname;
  out.subtype = command.options.subtype;
  out.mount_options = command.options.for_libfuse;
  out.check_permissions = permissions_matter(command.options);
  out.max_read = command.options.max_read;
  out.debug = command.debug;
  out.single_thread = command.single_thread;
  return out;
}

// A file that ends before its superblock says is a copy that was not finished: what is left of it is mounted,
// with a warning (on stderr, as nothing has been detached yet, and in /.h5/log), and what lies beyond its end
// fails where it is read.
void warn_of_missing_end(const std::string& name, const metadata::FileMetadata& file) {
  const format::Superblock& superblock = file.superblock();
  const std::uint64_t end = file.base_address() + file.addresses()->size();
  if (superblock.open_for_swmr_writing() || superblock.end_of_file <= end) return;
  log(LogLevel::Warning,
      "{}: the file ends at {:#x}, its superblock says {:#x}: cut short? What lies beyond cannot be read",
      name, end, superblock.end_of_file);
}

// Everything from the open file to the end of the mount, in the process that serves.
int serve(const MountCommand& command, std::shared_ptr<object::FileSet> files,
          const std::optional<Background>& background) {
  const auto cache = std::make_shared<cache::BlockCache>(cache_bytes(command.options));
  const auto status = std::make_shared<MountStatus>(command.file, cache);
  const StatusReport report(status);
  const metadata::FileMetadataPtr metadata = files->main()->snapshot();
  auto tree = make_tree(at_any_place(command), std::move(files), cache, status);
  if (!tree) {
    tell(command.file, tree.error().text());
    return kExitBadFile;
  }
  warn_of_missing_end(command.file, *metadata);
  auto session = fuse::Session::mount(std::move(*tree), session_options(command));
  if (!session) {
    tell(command.file, session.error().text());
    return kExitMountFailed;
  }
  std::atomic<bool> answered = false;
  const int result = (*session)->serve([&] {
    answered = true;
    publish_release_notice(command.mountpoint);
    if (background && !background->ready()) (*session)->stop();
  });
  if (result == 0 && answered) return 0;
  tell(command.file, answered ? "the mount ended with an error" : "the mount ended before it answered");
  return kExitMountFailed;
}

}  // namespace

void tell(const std::string& about, const std::string& words) {
  const bool said = about.empty() || words.find(about) != std::string::npos;
  const std::string line = said ? words : about + ": " + words;
  std::fprintf(stderr, "h5mount: %s\n", escape_for_log(line).c_str());
}

int run_mount(const MountCommand& command) {
  set_log_level(command.options.log_level.value_or(command.debug ? LogLevel::Debug : LogLevel::Warning));
  if (const Status readable = check_source(command.file); !readable) {
    tell(command.file, readable.error().text());
    return kExitUnreadable;
  }
  if (const Status place = fuse::check_mountpoint(command.mountpoint); !place) {
    tell(command.file, place.error().text());
    return kExitMountFailed;
  }
  filter::use_filter_plugins({.directories = command.options.plugins});
  auto files = open_files(command);
  if (!files) {
    tell(command.file, explain_refusal(command.file, files.error()).text());
    return files.error().code() == ErrorCode::Io ? kExitUnreadable : kExitBadFile;
  }
  if (command.check_only) return 0;
  // Root mounts without help; others need fusermount3, which is setuid, to mount and to unmount.
  if (::geteuid() == 0) ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (command.foreground) return serve(command, std::move(*files), std::nullopt);
  const auto background = Background::divide();
  if (!background) {
    tell(command.file, background.error().text());
    return kExitMountFailed;
  }
  return serve(command, std::move(*files), *background);
}

}  // namespace h5mount::cli
