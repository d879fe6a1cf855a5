#include "external_files.h"

#include <algorithm>
#include <filesystem>

#include "h5mount/base/limits.h"
#include "h5mount/tree/names.h"
#include "inode_numbers.h"

namespace h5mount::tree {

namespace {

constexpr unsigned kDepth = 3;  // .h5, external, the file's name
constexpr std::string_view kInoSeed = "external file";

// The directory of external files uses names relative to the mounted file's directory. Links of a file
// elsewhere are relative to that file's own directory.
std::string name_of(const ServedFile& from, const std::string& stored) {
  const std::string& directory = from.file()->directory;
  const std::string& main = from.context().mounted_file()->directory;
  if (from.depth() == 0 || stored.starts_with('/') || directory.empty()) return stored;
  const std::filesystem::path full = (std::filesystem::path(directory) / stored).lexically_normal();
  const std::string relative = full.lexically_relative(main).string();
  return relative.empty() || relative.starts_with("..") ? full.string() : relative;
}

}  // namespace

std::string ExternalFiles::remember_link(const ServedFile& from, const std::string& stored) {
  Known known;
  known.name = name_of(from, stored);
  known.shown = encode_name(known.name);
  known.from = from.file();
  known.stored = stored;
  const MutexLock lock(mutex_);
  std::string name = known.name;
  add(std::move(known));
  return name;
}

// A name that is already known keeps its file; the reason for an earlier failure may be gone.
void ExternalFiles::add(Known known) {
  if (const auto found = by_shown_.find(known.shown); found != by_shown_.end()) {
    found->second->failed = known.failed;
    if (found->second->from.expired()) {
      found->second->from = known.from;
      found->second->stored = known.stored;
    }
    known_.splice(known_.begin(), known_, found->second);
    return;
  }
  bytes_ += known.bytes();
  known_.push_front(std::move(known));
  by_shown_.emplace(known_.front().shown, known_.begin());
  while (bytes_ > limits::kMaxRememberedNameBytes && known_.size() > 1) {
    bytes_ -= known_.back().bytes();
    by_shown_.erase(known_.back().shown);
    known_.pop_back();
  }
}

Result<ExternalFiles::Wanted> ExternalFiles::find(const object::FileSet& files,
                                                  std::string_view shown) const {
  const MutexLock lock(mutex_);
  if (const auto found = by_shown_.find(shown); found != by_shown_.end()) {
    const Known& known = *found->second;
    Wanted wanted{known.name, known.stored, known.from.lock(), known.file.lock()};
    if (wanted.from) return wanted;
    wanted.from = files.main();
    wanted.stored = wanted.name;
    return wanted;
  }
  // The kernel does not cache this answer: a link may name the file soon.
  if (files.access().for_others) return fail({ErrorCode::AccessDenied, "no link has named this file"});
  const std::optional<std::string> name = decode_name(shown);
  if (!name) return fail({ErrorCode::NotFound, "no such file"});
  return Wanted{*name, *name, files.main(), nullptr};
}

Result<ServedFilePtr> ExternalFiles::open(const MountContextPtr& context, std::string_view shown) {
  object::FileSet& files = *context->environment.files;
  H5_ASSIGN(Wanted wanted, find(files, shown));
  if (wanted.file) return wanted.file;
  auto opened = files.open_hdf5(wanted.from, wanted.stored, object::NameUse::Link);
  ServedFilePtr made;
  if (opened)
    made = std::make_shared<ServedFile>(context, *opened, kDepth,
                                        make_ino(fnv1a(kInoSeed) + context->ino_seed, wanted.name));
  const MutexLock lock(mutex_);
  const auto known = by_shown_.find(shown);
  if (known != by_shown_.end()) {
    known->second->failed = !opened;
    if (ServedFilePtr other = known->second->file.lock()) return other;
    known->second->file = made;
  } else if (opened) {
    Known used;
    used.shown = shown;
    used.name = used.stored = wanted.name;
    used.from = files.main();
    used.file = made;
    add(std::move(used));
  }
  if (!opened) return fail(std::move(opened).error());
  return made;
}

std::string ExternalFiles::shown_name_of(const ServedFile& file) const {
  const MutexLock lock(mutex_);
  const auto found =
      std::ranges::find_if(known_, [&](const Known& known) { return known.file.lock().get() == &file; });
  return found == known_.end() ? std::string() : found->shown;
}

std::vector<std::string> ExternalFiles::used_names() const {
  std::vector<std::string> out;
  const MutexLock lock(mutex_);
  for (const Known& known : known_)
    if (!known.failed) out.push_back(known.shown);
  std::ranges::sort(out);
  return out;
}

}  // namespace h5mount::tree
