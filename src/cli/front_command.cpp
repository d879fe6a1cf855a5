#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "copy_progress.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/unique_fd.h"
#include "h5mount/filter/plugins.h"
#include "h5mount/front/commands.h"
#include "h5mount/front/path_walk.h"
#include "h5mount/tree/tree.h"
#include "open/advice.h"
#include "open/join_progress.h"
#include "open/make_tree.h"
#include "open/open_source.h"
#include "path_failures.h"
#include "run_commands.h"
#include "words/exit_codes.h"

namespace h5mount::cli {
namespace {

using Kind = FrontCommand::Kind;

std::atomic<bool> stop = false;
std::atomic<int> stopped_by = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  stopped_by = signal;
  stop = true;
}

// The first signal stops the copy cleanly, the second one at once. An ignored signal (nohup) stays ignored.
void stop_copying_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

// The stamp is taken before anything is copied, so that the version is never newer than what is copied. Many
// files have no stamp.
std::string source_version(const FrontCommand& command, const object::FileSet* files) {
  if (files == nullptr) return {};
  const auto stamp = io::settled_stamp(files->main()->followed->source()->state());
  if (!stamp) return {};
  const MountOptions& options = command.options;
  return fmt::format("{} {:x}-{:x}-{:x}-{:x} {}:{} {:o}:{:o}", H5MOUNT_VERSION, stamp->size, stamp->modified,
                     stamp->sum, stamp->changed, static_cast<std::int64_t>(options.uid.value_or(-1)),
                     static_cast<std::int64_t>(options.gid.value_or(-1)), options.file_umask,
                     options.directory_umask);
}

// After an interruption removes incomplete files, then raises the signal again.
Status run_copy(const FrontCommand& command, const object::FileSet* files,
                const std::shared_ptr<tree::Tree>& tree, const front::FailureHandler& failed) {
  stop_copying_on_signals();
  front::CopyProgress progress;
  const bool shown = ::isatty(STDERR_FILENO) == 1;
  front::CopyOptions options;
  options.path = command.paths.front();
  options.destination = command.destination;
  options.threads = decoding_threads(command.options);
  options.source_version = source_version(command, files);
  options.stop = &stop;
  options.progress = shown ? &progress : nullptr;
  Status done;
  {
    std::optional<CopyProgressLine> line;
    if (shown) line.emplace(progress);
    done = front::copy(tree, options, failed);
  }
  if (stop) {
    std::signal(stopped_by, SIG_DFL);
    std::raise(stopped_by);
  }
  return done;
}

// Writes metadata.jsonl of the whole file to DESTINATION.jsonl, which gets that name when it is complete.
Status save_metadata(const FrontCommand& command, const front::Context& context) {
  const std::string name = command.destination + ".jsonl", part = name + ".part";
  const UniqueFd file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file) return fail(io_error(errno, name));
  front::Output out(file.get(), name);
  bool whole = true;
  const auto failed = [&](std::string_view path, const Error& error) {
    whole = false;
    context.failed(path, error);
  };
  const std::string paths[] = {"/.h5/metadata.jsonl"};
  H5_TRY(front::cat({context.tree, out, failed}, paths));
  H5_TRY(out.flush());
  if (whole && ::rename(part.c_str(), name.c_str()) != 0) return fail(io_error(errno, name));
  return {};
}

// An archive of a far file takes long: a terminal shows how far it is, unless the archive itself goes there.
Status run_tar(const FrontCommand& command, const front::Context& context) {
  front::CopyProgress progress;
  std::optional<CopyProgressLine> line;
  if (command.sources.far() && ::isatty(STDERR_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 0) {
    context.out.count_in(&progress.bytes);
    line.emplace(progress);
  }
  Status done = front::tar(context, command.paths);
  context.out.count_in(nullptr);
  return done;
}

Status run_command(const FrontCommand& command, const object::FileSet* files, const front::Context& context) {
  switch (command.kind) {
    case Kind::Cat:
      return front::cat(context, command.paths);
    case Kind::Stat:
      return front::stat(context, command.paths);
    case Kind::Text:
      return front::text(context, command.paths);
    case Kind::List:
      return front::list(context, command.paths,
                         {command.details, command.recursive, ::isatty(STDOUT_FILENO) == 1});
    case Kind::Tar:
      return run_tar(command, context);
    case Kind::Copy:
      H5_TRY(run_copy(command, files, context.tree, context.failed));
      return command.metadata ? save_metadata(command, context) : Status{};
    case Kind::Diff:
      break;  // run_diff
  }
  return fail(Error(ErrorCode::Internal, "an unknown command"));
}

}  // namespace

int run_front(const FrontCommand& command) {
  set_log_level(command.options.log_level.value_or(LogLevel::Warning));
  set_salvage_mode(command.options.salvage);
  filter::use_filter_plugins({.directories = command.options.plugins});
  const std::string name = command.sources.name();
  const auto sources = open_sources(command.sources, command.options, salvage_use(command.options));
  if (!sources) return print_error(name, sources.error().text(), exit_code_of(sources.error()));
  const auto cache = make_cache(command.options);
  const auto status = std::make_shared<MountStatus>(name, cache);
  const auto tree = make_tree(*sources, command.options, cache, status, FailedReads::Named);
  if (!tree) return print_error(name, tree.error().text(), kExitBadFile);
  const auto pin = (*tree)->pin();  // the same file throughout, even if it is reloaded
  bool any_failed = false;
  front::Output out(STDOUT_FILENO);
  const JoinProgress progress(*tree);
  const Status done =
      run_command(command, sources->files.get(), {*tree, out, failure_handler(*tree, name, any_failed)});
  if (!done) {
    std::string words = done.error().text();
    const bool of_destination = !command.destination.empty() && words.starts_with(command.destination);
    if (const std::string_view advice = advice_for_command(done.error()); !advice.empty())
      words += fmt::format("; {}", advice);
    print_error(of_destination ? "" : name, words);
  }
  return done && !any_failed ? 0 : kExitPartial;
}

}  // namespace h5mount::cli
