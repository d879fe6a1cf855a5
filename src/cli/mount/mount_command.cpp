#include "mount_command.h"

#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../open/make_tree.h"
#include "../open/open_source.h"
#include "../words/exit_codes.h"
#include "background.h"
#include "drop_rights.h"
#include "force_unmount.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/log.h"
#include "h5mount/dataset/dataset_reader.h"
#include "h5mount/filter/plugins.h"
#include "h5mount/fuse/session.h"
#include "h5mount/remote/url.h"
#include "h5mount/tree/file_object.h"
#include "h5mount/tree/names.h"
#include "h5mount/tree/tree.h"
#include "made_mountpoint.h"
#include "release_notice.h"

namespace h5mount::cli {
namespace {

constexpr std::size_t kMostObjects = 10'000;
constexpr std::chrono::milliseconds kMostTime{200};

// Breadth first, as what lies near the root is sooner met.
class Search {
 public:
  std::optional<std::string> run(const tree::FileObjectPtr& root) {
    groups_.push_back({root, ""});
    seen_.insert(root->object().address);
    for (std::size_t next = 0; next < groups_.size() && !found_ && goes_on(); ++next) {
      const Group group = groups_[next];
      const auto links = group.object->links(budget_);
      for (std::size_t i = 0; links && i < (*links)->size() && !found_ && goes_on(); ++i)
        visit(group, (*links)->at(i));
    }
    return std::move(found_);
  }

 private:
  struct Group {
    tree::FileObjectPtr object;
    std::string path;
  };

  bool goes_on() {
    return ++objects_ <= kMostObjects && std::chrono::steady_clock::now() - begin_ < kMostTime;
  }

  void note(const std::string& path, std::string_view file) {
    found_ = fmt::format("{} names {}", escape_for_log(path), escape_for_log(file));
  }

  void visit(const Group& group, const format::Link& listed) {
    const std::string path = group.path + "/" + listed.name;
    if (listed.is(format::LinkType::External)) {
      const auto link = group.object->find_link(listed.name, budget_);
      return note(path, link ? std::string_view(link->file) : "another file");
    }
    if (!listed.is(format::LinkType::Hard) || !seen_.insert(listed.address).second) return;
    const auto object = group.object->follow(listed, budget_);
    if (!object) return;
    if ((*object)->object().kind == object::ObjectKind::Group) groups_.push_back({*object, path});
    if ((*object)->object().kind == object::ObjectKind::Dataset) visit_dataset(path, **object);
  }

  void visit_dataset(const std::string& path, const tree::FileObject& object) {
    const auto description = object::describe_dataset(*object.snapshot(), object.object());
    if (!description) return;
    if (!description->external.empty()) return note(path, description->external[0].file);
    if (description->layout.cls != format::LayoutClass::Virtual) return;
    const auto data = object.elements()(budget_);
    if (!data) return;
    for (const dataset::NamedFile& source : data->reader->named_sources(kMostObjects, budget_).list)
      if (source.state == dataset::NamedFile::State::Refused) return note(path, source.file);
  }

  RequestBudget budget_;
  std::vector<Group> groups_;
  std::unordered_set<std::uint64_t> seen_;
  std::size_t objects_ = 0;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<std::string> found_;
};

// The first external link or dataset of the file that names another file, as "/PATH names FILE"; nullopt if
// none is found among the first objects of the file, in little time. Opens no other file.
std::optional<std::string> first_named_file(tree::Tree& tree) {
  RequestBudget budget;
  const auto root = tree.root_object(tree::kRootNode, budget);
  return root ? Search().run(*root) : std::nullopt;
}

// Whether the kernel must check permission bits. It need not if only the mounting user has access, and the
// bits refuse this user nothing that opening the file itself would allow.
bool permissions_matter(const MountOptions& options) {
  const bool masked = options.file_umask != 0 || options.directory_umask != 0;
  return options.allow_other || options.default_permissions || (masked && ::geteuid() != 0);
}

fuse::SessionOptions session_options(const MountCommand& command) {
  fuse::SessionOptions out;
  out.mountpoint = command.mountpoint;
  out.source = command.options.fsname.empty() ? command.sources.name() : command.options.fsname;
  out.subtype = command.options.subtype;
  out.mount_options = command.options.for_libfuse;
  out.check_permissions = permissions_matter(command.options);
  out.max_read = command.options.max_read;
  out.debug = command.debug;
  out.single_thread = command.single_thread;
  return out;
}

// The files in the directory stay hidden until the mount ends, which is seldom intended. A directory of
// sources would be hidden from the mount itself.
Status check_hidden_files(const MountCommand& command) {
  std::error_code none;
  const std::filesystem::path place = std::filesystem::canonical(command.mountpoint, none);
  for (const std::string& source : command.sources.paths) {
    if (remote::is_url(source)) continue;
    const std::filesystem::path file = std::filesystem::canonical(source, none);
    const auto [end, rest] = std::mismatch(place.begin(), place.end(), file.begin(), file.end());
    if (place.empty() || end != place.end()) continue;
    if (command.sources.many())
      return fail(Error(ErrorCode::Io, source + " would be hidden by a mount on " + command.mountpoint +
                                           ": name a MOUNTPOINT elsewhere"));
    log(LogLevel::Warning, "{}: the mount hides this file, which is in {}, until it ends", source,
        command.mountpoint);
    return {};
  }
  if (!std::filesystem::is_empty(command.mountpoint, none) && !none)
    log(LogLevel::Warning, "{} is not empty: the mount hides what is in it until it ends",
        command.mountpoint);
  return {};
}

// Warns if the file itself has an entry of that name, which takes precedence.
void warn_of_hidden_views(const MountCommand& command, tree::Tree& tree) {
  const auto views = tree.lookup(tree::kRootNode, tree::kHiddenName);
  if (!views) return;
  if (views->stat.type != tree::NodeType::Directory || tree.get_xattr(views->node, "user.hdf5.kind"))
    log(LogLevel::Warning, "{}: its root has an entry named .h5, which hides the views (/.h5) of this mount",
        command.sources.name());
  tree.forget(views->node, 1);
}

// Other users read with this process's rights, so by default no file that the file names is opened for them.
void warn_of_refused_files(const MountCommand& command, tree::Tree& tree) {
  if (!command.options.allow_other || command.options.external || command.sources.many() ||
      command.sources.far())
    return;
  if (const auto named = first_named_file(tree))
    log(LogLevel::Warning,
        "{}: {}: with allow_other the files that it names are refused, unless external= allows them",
        command.sources.name(), *named);
}

constexpr const char* kWithoutFuse =
    "; without FUSE: h5mount --list, --cat, --stat, --tar, --copy or --serve (see --help)";

bool has_fuse() {
  return ::access("/dev/fuse", R_OK | W_OK) == 0;
}

// The process that waits for the mount, and the processes and files that outlive this one.
struct Around {
  std::optional<Background> background;
  const std::optional<survive::KeeperLink>& keeper;
  std::shared_ptr<fuse::Handover> handover;  // null: the mount ends with this process

  bool goes_on() const { return handover && handover->goes_on(); }  // another server had the mount
};

// Returns false if nobody waits for the mount any more.
bool tell_ready(const MountCommand& command, const Around& around) {
  if (!around.keeper) return !around.background || around.background->ready();
  if (!command.foreground) let_go_of_terminal();
  return around.keeper->tell_ready();
}

// Returns null if the source of a mount that goes on can no longer be used: everything is then ESTALE.
Result<std::shared_ptr<tree::Tree>> make_served_tree(const MountCommand& command,
                                                     const Result<OpenedSources>& sources,
                                                     const std::shared_ptr<cache::BlockCache>& cache,
                                                     const std::shared_ptr<MountStatus>& status,
                                                     const Around& around) {
  auto tree = sources ? make_tree(*sources, command.options, cache, status, FailedReads::Logged)
                      : Result<std::shared_ptr<tree::Tree>>(fail(sources.error()));
  if (tree || !around.goes_on()) return tree;
  log(LogLevel::Error, "{}: it cannot be opened any more: {}", command.sources.name(), tree.error().text());
  return nullptr;
}

// The work of the serving process, from the open sources to the end of the mount.
int serve(const MountCommand& command, Result<OpenedSources> sources, const Around& around) {
  const auto cache = make_cache(command.options);
  const std::string name = command.sources.name();
  const auto status = std::make_shared<MountStatus>(name, cache);
  const StatusReport report(status);
  auto tree = make_served_tree(command, sources, cache, status, around);
  if (sources) *sources = {};
  if (!tree) return print_error(name, tree.error().text(), kExitBadFile);
  if (*tree) warn_of_hidden_views(command, **tree);
  if (*tree) warn_of_refused_files(command, **tree);
  // A signal or an unmount ends the process within five seconds, whatever its requests wait for.
  static constexpr std::chrono::seconds kGrace{4};
  // A mount on a descriptor that was handed over is unmounted by another process.
  const bool handed = fuse::handed_descriptor(command.mountpoint).has_value();
  const auto unmounted = std::make_shared<std::atomic<bool>>(handed);
  fuse::SessionOptions options = session_options(command);
  const auto ending = std::make_shared<std::atomic<bool>>(false);
  options.on_stop = [place = command.mountpoint, unmounted, ending] {
    *ending = true;
    end_within(place, kGrace, unmounted);
  };
  // The kernel has dropped the mount, so nothing has to be unmounted any more.
  options.on_disconnect = [place = command.mountpoint, unmounted, ending] {
    if (ending->exchange(true)) return;
    *unmounted = true;
    end_within(place, kGrace, unmounted);
  };
  options.handover = around.handover;
  const bool first = !around.goes_on();
  auto session = fuse::Session::mount(std::move(*tree), std::move(options));
  if (!session) return print_error(name, session.error().text() + kWithoutFuse, kExitMountFailed);
  if (command.options.plugins.empty()) refuse_calls(command.sources.far());
  std::atomic<bool> answered = false;
  const int result = (*session)->serve([&] {
    answered = true;
    if (!handed) publish_release_notice(command.mountpoint);
    if (command.makes_mountpoint && first) {
      std::printf("%s\n", command.mountpoint.c_str());
      std::fflush(stdout);
    }
    if (!tell_ready(command, around)) (*session)->stop();
  });
  *unmounted = true;
  if (result == 0 && answered) return 0;
  return print_error(name,
                     answered
                         ? "the mount ended with an error: the system's log has it (journalctl -t h5mount)"
                         : "the mount ended before it answered: -d shows what happened",
                     kExitMountFailed);
}

int cannot_open(const MountCommand& command, const Error& why) {
  return print_error(command.sources.name(), why.text(), exit_code_of(why));
}

Result<OpenedSources> open_for(const MountCommand& command) {
  return open_sources(command.sources, command.options, salvage_use(command.options));
}

// `sources`: nullopt if the serving process opens them, once it has given up its rights. That is so for URLs,
// as opening one starts a thread.
int serve_with(const MountCommand& command, std::optional<Result<OpenedSources>> sources,
               MadeMountpoint& made, const Around& around) {
  if (const Status kept = made.keep_rights(); !kept)
    log(LogLevel::Warning, "{} may not be removed at the end: {}", command.mountpoint, kept.error().text());
  drop_capabilities(!command.options.plugins.empty());
  if (!sources) {
    sources = open_for(command);
    if (!*sources) return cannot_open(command, sources->error());
  }
  return serve(command, *std::move(sources), around);
}

// Checks what would prevent the mount, and makes the mount point if the command says so. Not for a mount that
// goes on.
Status prepare_mountpoint(const MountCommand& command, bool kept, MadeMountpoint& made) {
  if (command.makes_mountpoint && !kept) {
    H5_ASSIGN(made, MadeMountpoint::make(command.mountpoint));
  }
  H5_TRY(fuse::check_mountpoint(command.mountpoint));
  return fuse::handed_descriptor(command.mountpoint) ? Status{} : check_hidden_files(command);
}

}  // namespace

int run_mount(const MountCommand& command, const std::optional<survive::KeeperLink>& keeper) {
  set_log_level(command.options.log_level.value_or(command.debug ? LogLevel::Debug : LogLevel::Warning));
  set_salvage_mode(command.options.salvage);
  ::signal(SIGUSR2, SIG_IGN);  // it is for a keeper
  filter::use_filter_plugins({.directories = command.options.plugins});
  const std::string name = command.sources.name();
  const auto refuse = [&](const Error& error) {
    return print_error(name, error.text() + (has_fuse() ? "" : kWithoutFuse), kExitMountFailed);
  };
  Around around{std::nullopt, keeper, nullptr};
  if (keeper) {
    auto handover = keeper->receive();
    if (!handover) return refuse(handover.error());
    around.handover = *std::move(handover);
  }
  std::optional<Result<OpenedSources>> sources;
  if (!command.sources.far() || command.check_only) sources = open_for(command);
  MadeMountpoint made;  // outlives the mount
  if (!around.goes_on()) {
    if (sources && !*sources) return cannot_open(command, sources->error());
    if (const Status place = prepare_mountpoint(command, keeper.has_value(), made); !place)
      return refuse(place.error());
    if (command.check_only) return 0;
  }
  if (!command.foreground && !keeper) {
    auto background = Background::fork_process();
    if (!background) return refuse(background.error());
    around.background = *std::move(background);
  }
  return serve_with(command, std::move(sources), made, around);
}

}  // namespace h5mount::cli
