#include "front_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "copy_command.h"
#include "copy_progress.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/unique_fd.h"
#include "h5mount/filter/plugins.h"
#include "h5mount/front/commands.h"
#include "open/advice.h"
#include "open/make_tree.h"
#include "open/open_source.h"
#include "suggest_path.h"
#include "words/exit_codes.h"

namespace h5mount::cli {
namespace {

using Kind = FrontCommand::Kind;

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
  }
  return fail(Error(ErrorCode::Internal, "an unknown command"));
}

// Whether the path that was not found is another file: a command takes one FILE, and the words after it are
// PATHs in it.
bool is_other_file(const std::string& path, const Error& error) {
  struct stat st = {};
  return error.code() == ErrorCode::NotFound && ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

// Prints "h5mount: FILE: /PATH: words" and, for the first few errors, a hint.
front::FailureHandler failure_handler(const std::shared_ptr<tree::Tree>& tree, const std::string& file,
                                      bool& any) {
  constexpr int kMaxHints = 4;
  return [&tree, &file, &any, hints = 0, once = AdviceOnce()](std::string_view path,
                                                              const Error& error) mutable {
    any = true;
    if (is_other_file(std::string(path), error)) {
      print_error("",
                  fmt::format("{} has no /{}. To read the file {}, give it to a command of its own: each has "
                              "one FILE, and the names behind it are paths in that file",
                              file, path, path));
      return;
    }
    std::string place(path);
    if (!place.starts_with('/')) place.insert(place.begin(), '/');
    std::string words = error.text();
    if (const std::string_view advice = once.next(error); !advice.empty())
      words += fmt::format("; {}", advice);
    if (error.code() == ErrorCode::NotFound && ++hints <= kMaxHints)
      if (const std::string hint = suggest_path(tree, file, path, once); !hint.empty()) words += "; " + hint;
    print_error("", file + ": " + (words.find(place) == std::string::npos ? place + ": " + words : words));
  };
}

}  // namespace

int run_front(const FrontCommand& command) {
  set_log_level(command.options.log_level.value_or(LogLevel::Warning));
  set_salvage_mode(command.options.salvage);
  filter::use_filter_plugins({.directories = command.options.plugins});
  const std::string name = command.sources.name();
  const auto sources = open_sources(command.sources, command.options, salvage_use(command.options));
  if (!sources) {
    print_error(name, sources.error().text());
    return exit_code_of(sources.error());
  }
  const auto cache = make_cache(command.options);
  const auto status = std::make_shared<MountStatus>(name, cache);
  const auto tree = make_tree(*sources, command.options, cache, status, FailedReads::Named);
  if (!tree) {
    print_error(name, tree.error().text());
    return kExitBadFile;
  }
  const auto pin = (*tree)->pin();  // the same file throughout, even if it is reloaded
  bool any_failed = false;
  front::Output out(STDOUT_FILENO);
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
