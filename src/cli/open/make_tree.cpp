#include "make_tree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "advice.h"
#include "h5mount/base/log.h"
#include "h5mount/base/log_notes.h"
#include "h5mount/format/superblock.h"
#include "memory_limit.h"

namespace h5mount::cli {
namespace {

constexpr std::uint64_t kMinCache = 32ULL << 20;
constexpr std::uint64_t kMaxCacheUnasked = 1ULL << 30;

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{} MiB", bytes >> 20);
}

// A fraction of the machine's memory, or of what a limit leaves of it.
std::uint64_t cache_bytes(const MountOptions& options) {
  const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 1L));
  const std::uint64_t machine = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto limit = memory_limit();
  const bool limited = limit && limit->bytes < machine;
  const std::uint64_t memory = limited ? limit->bytes : machine;
  const std::uint64_t out = options.cache_bytes.value_or(std::clamp(memory / 4, kMinCache, kMaxCacheUnasked));
  note_in_log(
      fmt::format("memory of this machine: {}; {}; cache_size: {}{}", mebibytes(machine),
                  limited ? fmt::format("limit: {} ({})", mebibytes(memory), limit->file) : "no limit",
                  mebibytes(out), options.cache_bytes ? ", as asked" : ""));
  return out;
}

// 12,683,797
std::string grouped(std::uint64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3;) out.insert(at -= 3, 1, ',');
  return out;
}

// The message for a file that ends before the end in its superblock, which is an incomplete copy. Empty for
// other files.
std::string missing_end(const metadata::FileMetadata& file) {
  const format::Superblock& superblock = file.superblock();
  const std::uint64_t base = file.base_address(), end = file.source()->size();
  const std::uint64_t stated = superblock.end_from_base();
  if (superblock.open_for_swmr_writing() || stated <= end) return {};
  return fmt::format("{} of {} bytes: an incomplete copy?", grouped(base + end), grouped(base + stated));
}

// The part of the file that exists is mounted, with a warning (on stderr, which is not yet detached, and in
// /.h5/log); reads beyond its end fail.
void warn_of_missing_end(const std::string& name, const metadata::FileMetadata& file) {
  if (const std::string words = missing_end(file); !words.empty())
    log(LogLevel::Warning, "{}: {} Data beyond its end cannot be read", name, words);
}

// `error`: that of the root. If the file was cut, that is the reason.
Error explain_missing_end(const metadata::FileMetadata& file, const Error& error) {
  const std::string words = missing_end(file);
  return words.empty() ? error : Error(error.code(), words + " " + error.text());
}

}  // namespace

std::shared_ptr<cache::BlockCache> make_cache(const MountOptions& options) {
  return std::make_shared<cache::BlockCache>(cache_bytes(options));
}

std::shared_ptr<cache::WorkerPool> make_workers(const MountOptions& options) {
  return std::make_shared<cache::WorkerPool>(decoding_threads(options));
}

tree::TreeOptions tree_options(const MountOptions& options, const std::shared_ptr<MountStatus>& status,
                               FailedReads failed_reads) {
  return {.uid = options.uid,
          .gid = options.gid,
          .file_umask = options.file_umask,
          .directory_umask = options.directory_umask,
          .status = [status] { return status->text(); },
          .references = options.references,
          .logs_failed_reads = failed_reads == FailedReads::Logged};
}

std::shared_ptr<tree::Forest> make_forest(const OpenedSources& sources, const MountOptions& options,
                                          const std::shared_ptr<cache::BlockCache>& cache,
                                          const std::shared_ptr<cache::WorkerPool>& workers,
                                          const std::shared_ptr<MountStatus>& status,
                                          FailedReads failed_reads, Readers readers) {
  tree::ForestOptions forest;
  forest.tree = tree_options(options, status, failed_reads);
  std::error_code none;  // files are named by the directory that a symlink leads to
  const auto directory = std::filesystem::canonical(sources.path, none);
  forest.tree.references.root = none ? remote::shown_url(sources.path) : directory.string();
  forest.counters = status->counters();
  forest.environment = [cache, workers, counters = status->counters()](
                           std::shared_ptr<object::FileSet> files) -> dataset::ReadEnvironment {
    return {cache, workers, std::move(files), nullptr, counters};
  };
  // A tree is more than a descriptor: with so few trees that concurrent readers use more, those that are
  // dropped would be needed again at once.
  constexpr std::size_t kFewest = 64;
  if (options.max_open) forest.most_trees = std::clamp(*options.max_open, kFewest, forest.most_trees);
  forest.checks_others = readers == Readers::Any;
  forest.catalogue_for_others = readers != Readers::Own;
  forest.remembered = sources.remembered;
  forest.join = options.join;
  if (forest.join) forest.join->listed = sources.listed;
  forest.far = sources.far;
  auto made = tree::Forest::make(sources.many, std::move(forest));
  status->set_forest(made);
  return made;
}

Result<join::PlanPtr> plan_of(const OpenedSources& sources, const join::Options& join,
                              const std::shared_ptr<cache::WorkerPool>& workers) {
  constexpr std::uint64_t kCacheBytes = 64U << 20;
  tree::ForestOptions forest;
  forest.join = join;
  forest.join->listed = sources.listed;
  forest.far = sources.far;
  forest.environment = [cache = std::make_shared<cache::BlockCache>(kCacheBytes),
                        workers](std::shared_ptr<object::FileSet> files) -> dataset::ReadEnvironment {
    return {cache, workers, std::move(files)};
  };
  return tree::make_joined_file(sources.many, forest)->plan(Unbounded());
}

void for_each_not_joined(const Result<join::PlanPtr>& plan,
                         const std::function<void(const std::string& path, const Error& why)>& found) {
  if (!plan) return found("", plan.error());
  for (const join::LeftOutFile& left : (*plan)->left_out) found(left.card->path, left.why);
  for (const join::PlannedMember& member : (*plan)->members)
    if (member.error) found("/" + member.card->path, *member.error);
}

Result<std::shared_ptr<tree::Tree>> make_tree(const OpenedSources& sources, const MountOptions& options,
                                              const std::shared_ptr<cache::BlockCache>& cache,
                                              const std::shared_ptr<MountStatus>& status,
                                              FailedReads failed_reads) {
  const auto& files = sources.files;
  const auto workers = make_workers(options);
  if (sources.many)
    return make_forest(sources, options, cache, workers, status, failed_reads,
                       options.allow_other ? Readers::AsKernelLets : Readers::Own);
  status->set_files(files);
  const auto again = [file = sources.path, options, status, failed_reads, cache, workers,
                      memory = files->memory()]() -> Result<tree::Tree::Parts> {
    H5_ASSIGN(auto opened, open_source(file, options, memory));
    status->set_files(opened);
    return tree::Tree::Parts{{cache, workers, std::move(opened), nullptr, status->counters()},
                             tree_options(options, status, failed_reads)};
  };
  const tree::Tree::Parts first{{cache, workers, files, nullptr, status->counters()},
                                tree_options(options, status, failed_reads)};
  auto tree = options.reload ? tree::Tree::make_reloading(first, again)
                             : tree::Tree::make(first.environment, first.options);
  if (tree)
    if (const auto root = (*tree)->stat(tree::kRootNode, tree::StatDepth::Listing); !root)
      tree = fail(root.error());
  if (!tree) {
    const Error why = explain_missing_end(*files->main()->snapshot(), tree.error());
    return fail(with_salvage_named(tree.error(), why));
  }
  warn_of_missing_end(sources.name, *files->main()->snapshot());
  return tree;
}

}  // namespace h5mount::cli
