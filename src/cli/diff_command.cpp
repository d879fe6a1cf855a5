#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "copy_progress.h"
#include "h5mount/filter/plugins.h"
#include "h5mount/front/diff.h"
#include "open/join_progress.h"
#include "open/make_tree.h"
#include "open/open_source.h"
#include "path_failures.h"
#include "run_commands.h"
#include "words/exit_codes.h"

namespace h5mount::cli {
namespace {

// One of the two sources. Not moved once it is open.
struct DiffSource {
  std::string name;
  std::shared_ptr<tree::Tree> tree;
  std::shared_ptr<void> pin;  // the same file throughout, even if it is reloaded

  Status open(const SourceArguments& words, const MountOptions& options,
              const std::shared_ptr<cache::BlockCache>& cache) {
    name = words.name();
    H5_ASSIGN(const OpenedSources sources, open_sources(words, options, salvage_use(options)));
    const auto status = std::make_shared<MountStatus>(name, cache);
    H5_ASSIGN(tree, make_tree(sources, options, cache, status, FailedReads::Named));
    pin = tree->pin();
    return {};
  }
};

}  // namespace

int run_diff(const FrontCommand& command) {
  set_log_level(command.options.log_level.value_or(LogLevel::Warning));
  set_salvage_mode(command.options.salvage);
  filter::use_filter_plugins({.directories = command.options.plugins});
  front::DiffOptions options = command.diff;
  options.threads = decoding_threads(command.options);
  const auto cache = make_cache(command.options);
  DiffSource a, b;
  const bool any_many = command.sources.many() || command.other.many();
  for (const auto& [source, words] : {std::pair(&a, &command.sources), std::pair(&b, &command.other)}) {
    MountOptions of_source = command.options;
    if (any_many && !words->many()) of_source.join.reset();  // what is joined may be compared with one file
    const Status opened = source->open(*words, of_source, cache);
    if (opened) continue;
    std::fputs(front::diff_of_nothing(options).c_str(), stdout);
    return print_error(source->name, opened.error().text(), kExitDiffTrouble);
  }
  const JoinProgress progress_a(a.tree), progress_b(b.tree);
  bool any_failed = false;
  const std::string path = command.paths.empty() ? std::string() : command.paths.front();
  front::Output out(STDOUT_FILENO);
  front::CopyProgress progress;
  std::optional<CopyProgressLine> line;
  const auto make_room = [&line] {
    if (line) line->clear();
  };
  if (::isatty(STDERR_FILENO) == 1) {
    options.compared_bytes = &progress.bytes;
    out.before_writing(make_room);
    line.emplace(progress, false);
  }
  const auto failed = [&](const DiffSource& source) -> front::FailureHandler {
    return [&make_room, tell = failure_handler(source.tree, source.name, any_failed)](std::string_view at,
                                                                                      const Error& error) {
      make_room();
      tell(at, error);
    };
  };
  const auto result =
      front::diff({a.tree, path, failed(a)},
                  {b.tree, command.paths.size() < 2 ? path : command.paths.back(), failed(b)}, options, out);
  line.reset();
  if (!result) return print_error("", result.error().text(), kExitDiffTrouble);
  return *result == front::DiffResult::Equal       ? 0
         : *result == front::DiffResult::Different ? kExitDifferent
                                                   : kExitDiffTrouble;
}

}  // namespace h5mount::cli
