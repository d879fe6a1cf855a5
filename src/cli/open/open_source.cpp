#include "open_source.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "advice.h"
#include "h5mount/io/descriptors.h"
#include "h5mount/io/drivers.h"
#include "h5mount/store/catalogue_store.h"
#include "remote_files.h"
#include "source_check.h"

namespace h5mount::cli {
namespace {

object::ExternalAccess external_access(const MountOptions& options) {
  // With allow_other every user reads with this process's rights, so by default the files that the file names
  // are not opened.
  object::ExternalAccess out(options.external.value_or(
      options.allow_other ? object::ExternalPolicy::None : object::ExternalPolicy::Beneath));
  out.directories = options.external_directories;
  out.for_others = options.allow_other;
  out.completes_sets = options.completes_sets && !options.policy;
  out.refused_types.push_back("fuse." + options.subtype);
  out.read_environment();
  return out;
}

// The opener for a FILE that is a path or a URL.
Result<std::shared_ptr<object::SourceOpener>> make_opener(const std::string& file, const OpenOptions& how) {
  if (remote::is_url(file)) return make_remote_opener(how.access, how.remote);
  return object::make_local_opener(how.access, how.metadata.force);
}

OpenOptions open_options(const MountOptions& mount, metadata::MetadataOptions metadata,
                         const SalvageUse& salvage) {
  remote::Options remote = mount.remote;
  remote.looks_for_changes = mount.reload;
  return {external_access(mount), std::move(metadata), salvage, std::move(remote), mount.policy};
}

// The file's name, valid in every working directory; its symlinks are not resolved, since they may lead to
// another file when it is opened again.
std::string absolute_as_given(const std::string& file) {
  if (remote::is_url(file)) return file;
  std::error_code trouble;
  const auto absolute = std::filesystem::absolute(file, trouble);
  return trouble ? file : absolute.string();
}

metadata::MetadataOptions metadata_options(const MountOptions& mount,
                                           const std::shared_ptr<SharedCache>& memory) {
  metadata::MetadataOptions options;
  options.force = mount.force;
  options.follow = mount.swmr == Swmr::On     ? metadata::Follow::Always
                   : mount.swmr == Swmr::Auto ? metadata::Follow::Auto
                                              : metadata::Follow::Never;
  options.keep_replaced = mount.reload;
  options.memory = memory;
  return options;
}

// A file that was renamed over stays readable for those who have it open.
metadata::MetadataOptions options_of_many(const MountOptions& mount,
                                          const std::shared_ptr<SharedCache>& memory) {
  metadata::MetadataOptions options = metadata_options(mount, memory);
  options.keep_replaced = true;
  return options;
}

// A family's pattern, or the name of a multi or split file, names no file itself.
bool is_there(const std::string& path) {
  std::error_code none;
  return std::ranges::any_of(io::first_member_candidates(path), [&](const std::string& member) {
    return std::filesystem::is_regular_file(member, none);
  });
}

// `path`: a directory, whose files are opened without leaving it.
Result<tree::ForestDirectoryPtr> open_directory(const std::string& path, const MountOptions& mount,
                                                const std::shared_ptr<SharedCache>& memory,
                                                const SalvageUse& salvage) {
  const object::ExternalAccess access = external_access(mount);
  auto top = object::SourceDirectory::open(path, access.refused_types);
  if (!top) return fail(Error(ErrorCode::Io, top.error().text()));
  const auto open = [access, salvage, policy = mount.policy, options = options_of_many(mount, memory)](
                        const std::shared_ptr<const object::SourceDirectory>& from,
                        const std::string& relative) -> Result<std::shared_ptr<object::FileSet>> {
    auto opener = make_salvaging_opener(object::make_directory_opener(from, access, options.force), salvage);
    auto files = object::FileSet::open(relative, make_judging_opener(std::move(opener), policy), options);
    if (!files)
      return fail(judged_error(why_not_opened(from->path() + "/" + relative, files.error()), policy));
    return files;
  };
  return tree::make_local_directory(*std::move(top), {mount.match, mount.passthrough}, open);
}

// Opens a directory, or a prefix of a bucket; returns null if the path is a file.
Result<tree::ForestDirectoryPtr> open_below(const std::string& path, const MountOptions& options,
                                            const std::shared_ptr<SharedCache>& memory,
                                            const SalvageUse& salvage) {
  if (!has_files_below(path)) return nullptr;
  if (!remote::is_url(path)) return open_directory(path, options, memory, salvage);
  const auto open = [how = open_options(options, options_of_many(options, memory), salvage)](
                        const std::string& url) { return open_source(url, how); };
  return make_prefix_directory(path, {options.match, options.passthrough}, options.remote, open);
}

// The store that remembers the lines of a catalogue; null if nothing is remembered. Lines depend on the
// program and on options; a new form of the lines gets a new number.
Result<std::shared_ptr<tree::CatalogueStore>> open_remembered(const SourceArguments& words,
                                                              const MountOptions& options) {
  if (options.catalogue.empty()) return nullptr;
  constexpr int kForm = 1;
  store::StoreUse use;
  use.maker = fmt::format("{} {} {} {} {}", H5MOUNT_VERSION, kForm, static_cast<int>(options.salvage),
                          static_cast<int>(options.swmr), options.force);
  if (options.policy) use.maker += fmt::format(" {} {}", options.policy->name, options.policy->text);
  for (const std::string& path : words.paths) use.source += absolute_as_given(path) + '\n';
  auto store = store::open_catalogue_store(options.catalogue, use);
  if (!store) return fail(Error(ErrorCode::Io, "catalogue=" + store.error().text()));
  return store;
}

}  // namespace

unsigned decoding_threads(const MountOptions& options) {
  return options.threads.value_or(std::max(std::thread::hardware_concurrency(), 1U));
}

SalvageUse salvage_use(const MountOptions& options) {
  SalvageUse out;
  out.mode = options.salvage;
  out.threads = decoding_threads(options);
  out.far = options.salvage_far;
  out.force = options.force;
  out.lazy = true;
  out.progress = true;
  return out;
}

Result<OpenedSources> open_sources(const SourceArguments& words, const MountOptions& options,
                                   const SalvageUse& salvage, const std::shared_ptr<SharedCache>& shared) {
  const auto memory = shared ? shared : std::make_shared<SharedCache>();
  OpenedSources out{words.name(), nullptr, nullptr, memory, absolute_as_given(words.paths.front()), nullptr};
  if (options.max_open) io::set_descriptor_budget(*options.max_open);
  H5_TRY(prepare_urls(words.paths, options.remote));
  if (!words.many()) {
    if (options.join) return fail({ErrorCode::InvalidValue, "join= is for many files, and this is one"});
    H5_ASSIGN(out.files, open_source(words.paths.front(),
                                     open_options(options, metadata_options(options, memory), salvage)));
    return out;
  }
  out.far = words.far(), out.listed = words.listed;
  H5_ASSIGN(out.remembered, open_remembered(words, options));
  // URLs are opened when they are used, but errors in the options are reported now.
  if (words.far()) H5_TRY(make_remote_opener(external_access(options), options.remote));
  std::vector<tree::NamedSource> named;
  for (const std::string& path : words.paths) {
    tree::NamedSource source{path, remote::shown_url(path)};
    H5_ASSIGN(source.directory, open_below(path, options, memory, salvage));
    if (source.directory && remote::is_url(path) && words.paths.size() == 1)
      H5_TRY(check_prefix(path, {options.match, options.passthrough}, options.remote));
    if (source.directory) {
      while (source.shown.size() > 1 && source.shown.ends_with('/')) source.shown.pop_back();
    } else if (!remote::is_url(path) && !is_there(path)) {
      return fail(why_not_opened(path, Error(ErrorCode::NotFound, "no such file: " + path)));
    }
    named.push_back(std::move(source));
  }
  if (named.size() > 1 && !options.references.url.empty())
    return fail(
        {ErrorCode::InvalidValue, "url= stands for the directory of one source, and these are several"});
  if (named.size() == 1) {
    out.many = std::move(named.front().directory);
    if (!words.far()) tree::tell_of_left_out(*out.many);
    return out;
  }
  const auto open = [how = open_options(options, options_of_many(options, memory), salvage)](
                        const std::string& path) { return open_source(path, how); };
  out.many = tree::make_named_sources(std::move(named), open);
  if (!words.far()) tree::tell_of_left_out(*out.many);
  return out;
}

Result<std::shared_ptr<object::FileSet>> open_source(const std::string& file, const MountOptions& mount,
                                                     const std::shared_ptr<SharedCache>& memory) {
  return open_source(file, open_options(mount, metadata_options(mount, memory), salvage_use(mount)));
}

Result<std::shared_ptr<object::FileSet>> open_source(const std::string& file, const OpenOptions& how) {
  H5_ASSIGN(const auto opener, make_opener(file, how));
  auto files = object::FileSet::open(
      file, make_judging_opener(make_salvaging_opener(opener, how.salvage), how.policy), how.metadata);
  if (files) {
    warn_of_versions(*opener);
    return files;
  }
  const Error why =
      remote::is_url(file) ? why_not_opened(*opener, files.error()) : why_not_opened(file, files.error());
  if (how.policy) return fail(judged_error(why, how.policy));
  const bool told = why.text() != files.error().text();
  return fail(told ? why : with_salvage_named(files.error(), why));
}

}  // namespace h5mount::cli
