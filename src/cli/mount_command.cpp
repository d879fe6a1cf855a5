#include "mount_command.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <utility>

#include "background.h"
#include "drop_rights.h"
#include "exit_codes.h"
#include "h5mount/filter/plugins.h"
#include "h5mount/fuse/session.h"
#include "h5mount/tree/names.h"
#include "last_resort.h"
#include "open_source.h"
#include "release_notice.h"

namespace h5mount::cli {
namespace {

// Whether the kernel must check permission bits: not where only the mounting user has access and the bits
// refuse this user nothing that opening the file itself would allow.
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

// What is in the directory stays hidden until the mount ends: seldom what was meant.
void warn_of_hidden_files(const MountCommand& command) {
  std::error_code none;
  const std::filesystem::path place = std::filesystem::canonical(command.mountpoint, none);
  const std::filesystem::path file = std::filesystem::canonical(command.file, none);
  const auto [end, rest] = std::mismatch(place.begin(), place.end(), file.begin(), file.end());
  if (!place.empty() && end == place.end()) {
    log(LogLevel::Warning, "{}: the mount hides this file, which is in {}, until it ends", command.file,
        command.mountpoint);
  } else if (!std::filesystem::is_empty(command.mountpoint, none) && !none) {
    log(LogLevel::Warning, "{} is not empty: the mount hides what is in it until it ends",
        command.mountpoint);
  }
}

// An entry of the file's own takes precedence.
void warn_of_hidden_views(const MountCommand& command, tree::Tree& tree) {
  const auto views = tree.lookup(tree::kRootNode, tree::kHiddenName);
  if (!views) return;
  if (views->stat.type != tree::NodeType::Directory || tree.get_xattr(views->node, "user.hdf5.kind"))
    log(LogLevel::Warning, "{}: its root has an entry named .h5, which hides the views (/.h5) of this mount",
        command.file);
  tree.forget(views->node, 1);
}

constexpr const char* kWithoutFuse =
    "; without FUSE: h5mount --list, --cat, --stat, --tar, --copy or --serve (see --help)";

bool has_fuse() {
  return ::access("/dev/fuse", R_OK | W_OK) == 0;
}

// The serving process's part, from the open file to the end of the mount.
int serve(const MountCommand& command, std::shared_ptr<object::FileSet> files,
          const std::optional<Background>& background) {
  const auto cache = make_cache(command.options);
  const auto status = std::make_shared<MountStatus>(command.file, cache);
  const StatusReport report(status);
  auto tree = make_tree(command.file, command.options, std::exchange(files, nullptr), cache, status,
                        FailedReads::Logged);
  if (!tree) {
    print_error(command.file, tree.error().text());
    return kExitBadFile;
  }
  warn_of_hidden_views(command, **tree);
  // A signal or an unmount ends the process within five seconds, whatever its requests wait for.
  static constexpr std::chrono::seconds kGrace{4};
  // A mount on a descriptor that was handed over is another process's to unmount.
  const bool handed = fuse::handed_descriptor(command.mountpoint).has_value();
  const auto unmounted = std::make_shared<std::atomic<bool>>(handed);
  fuse::SessionOptions options = session_options(command);
  const auto ending = std::make_shared<std::atomic<bool>>(false);
  options.on_stop = [place = command.mountpoint, unmounted, ending] {
    *ending = true;
    end_within(place, kGrace, unmounted);
  };
  // There is no mount any more that would have to be taken down.
  options.on_disconnect = [place = command.mountpoint, unmounted, ending] {
    if (ending->exchange(true)) return;
    *unmounted = true;
    end_within(place, kGrace, unmounted);
  };
  auto session = fuse::Session::mount(std::move(*tree), std::move(options));
  if (!session) {
    print_error(command.file, session.error().text() + kWithoutFuse);
    return kExitMountFailed;
  }
  if (command.options.plugins.empty()) refuse_calls();
  std::atomic<bool> answered = false;
  const int result = (*session)->serve([&] {
    answered = true;
    if (!handed) publish_release_notice(command.mountpoint);
    if (background && !background->ready()) (*session)->stop();
  });
  *unmounted = true;
  if (result == 0 && answered) return 0;
  print_error(command.file,
              answered ? "the mount ended with an error" : "the mount ended before it answered");
  return kExitMountFailed;
}

}  // namespace

int run_mount(const MountCommand& command) {
  set_log_level(command.options.log_level.value_or(command.debug ? LogLevel::Debug : LogLevel::Warning));
  filter::use_filter_plugins({.directories = command.options.plugins});
  auto files = open_source(command.file, command.options, nullptr, Salvaging::WhenNeeded);
  if (!files) {
    print_error(command.file, files.error().text());
    return exit_code_of(files.error());
  }
  if (const Status place = fuse::check_mountpoint(command.mountpoint); !place) {
    print_error(command.file, place.error().text() + (has_fuse() ? "" : kWithoutFuse));
    return kExitMountFailed;
  }
  const bool handed = fuse::handed_descriptor(command.mountpoint).has_value();
  if (!handed) warn_of_hidden_files(command);
  if (command.check_only) return 0;
  drop_capabilities(!command.options.plugins.empty());
  if (command.foreground) return serve(command, *std::move(files), std::nullopt);
  auto background = Background::fork_process();
  if (!background) {
    print_error(command.file, background.error().text());
    return kExitMountFailed;
  }
  return serve(command, *std::move(files), *std::move(background));
}

}  // namespace h5mount::cli
