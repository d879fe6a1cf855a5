// Opens local files: the one that the user names, or a set of them, and those that files name.
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "file_access.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/superblock.h"
#include "h5mount/object/file_set.h"
#include "member_files.h"

namespace h5mount::object {
namespace {

namespace fs = std::filesystem;

// Whether a lock tells more of writers than the file does. Superblocks of version 3 have status flags that a
// writer sets when it opens the file (specification, section II.A); they stay set if it dies, so a lock is
// needed where they are set. An empty file has nothing that a writer could have begun to change.
bool lock_tells_of_writers(int fd) {
  std::array<std::byte, format::kMaxSuperblockBytes> begin{};
  const ssize_t got = ::pread(fd, begin.data(), begin.size(), 0);
  if (got <= 0) return got < 0;
  const ByteSpan read = ByteSpan(begin).first(static_cast<std::size_t>(got));
  format::Cursor cursor(read, 0, structures::kSuperblock, {});
  const auto superblock = format::decode_superblock(cursor);
  return !superblock || superblock->version < 3 ||
         (superblock->open_for_writing() && !superblock->open_for_swmr_writing());
}

// Fails if a writer holds an exclusive lock. If a lock cannot be acquired for any other reason, that is not
// an error. The lock is released at once: a long mount must not block writers; from then on the superblock's
// status flags and change detection are used. A writer that opens the file in that instant is refused its own
// lock, so none is tried where the file itself tells.
Status check_lock(int fd, const std::string& name, bool force) {
  if (force || !lock_tells_of_writers(fd)) return {};
  if (::flock(fd, LOCK_SH | LOCK_NB) == 0) {
    ::flock(fd, LOCK_UN);
    return {};
  }
  if (errno == EWOULDBLOCK)
    return fail(io_error(EBUSY, name + " is locked by a writer (the option force opens it)"));
  return {};
}

std::string directory_of(const std::string& path) {
  return fs::path(path).parent_path().string();
}

// The directory of a path's target if it differs from the path's own directory; else empty.
std::string target_directory_of(const std::string& path, const std::string& real_path) {
  std::string target = real_path.empty() ? std::string() : directory_of(real_path);
  return target == directory_of(path) ? std::string() : target;
}

// The directory is part of the key: names in the same file denote other files if it was opened through
// another directory.
std::string key_of(const FileIdentity& identity, const std::string& directory) {
  return fmt::format("{:x}:{:x}:{}", identity.first, identity.second, directory);
}

class LocalOpener final : public SourceOpener {
 public:
  LocalOpener(const ExternalAccess& access, bool force,
              std::shared_ptr<const SourceDirectory> within = nullptr)
      : access_(std::make_shared<FileAccess>(access, std::move(within))), force_(force) {}

  const ExternalAccess& access() const override { return access_->options(); }

  // All members of a set are opened here, as one member may name the others.
  Result<FoundSource> find_main(const std::string& name) override {
    if (name.empty()) return fail(Error(ErrorCode::NotFound, "no file is named"));
    std::error_code code;
    const auto& within = access_->within();
    const fs::path absolute = within ? fs::path(within->path()) / name : fs::absolute(name, code);
    if (code) return fail(Error(ErrorCode::Io, "no current directory: " + code.message()));
    const fs::path directory = within ? absolute.parent_path() : fs::canonical(absolute.parent_path(), code);
    const std::string root = (code ? absolute.parent_path() : directory).string();
    First first;
    const MemberOpeners open{
        [&](const std::string& member) {
          return keep_first(access_->open_user_path(member, first ? &first->attributes : nullptr), first);
        },
        [&](const std::string& member) {
          return keep_first(access_->open_member(member, first->attributes), first);
        },
        access_->options().completes_sets};
    // Opened by the given name, not by the resolved one: a symlink in it may be redirected later
    // (SourceState::name_taken).
    H5_ASSIGN(auto source, open_named_files(absolute.string(), open));
    return FoundSource{key_of(first->identity, root),
                       (fs::path(root) / absolute.filename()).string(),
                       root,
                       first->target_directory,
                       first->attributes,
                       [source = std::move(source)]() mutable -> Result<std::shared_ptr<io::ByteSource>> {
                         return std::move(source);
                       }};
  }

  Result<FoundSource> find_named(const OpenedFile& from, std::string_view name, NameUse use) const override {
    H5_ASSIGN(FoundFile found, find(from, name, use));
    const std::string directory = directory_of(found.path);
    std::error_code code;
    const fs::path one_spelling = fs::canonical(directory, code);
    return FoundSource{key_of(found.identity, code ? directory : one_spelling.string()),
                       found.path,
                       directory,
                       target_directory_of(found.path, found.real_path),
                       found.attributes,
                       [found = std::move(found), use, force = force_]() mutable {
                         return use == NameUse::RawData ? source_of(std::move(found))
                                                        : locked_source(std::move(found), force);
                       }};
  }

 private:
  struct FirstMember {
    FileIdentity identity;
    FileAttributes attributes;
    std::string target_directory;
  };
  using First = std::optional<FirstMember>;

  // The attributes of a set are those of its first member, whose descriptor stays open unless it is one of
  // many files.
  Result<std::shared_ptr<io::ByteSource>> keep_first(Result<FoundFile> found, First& first) const {
    if (!found) return fail(found.error());
    if (!first) {
      first =
          FirstMember{found->identity, found->attributes, target_directory_of(found->path, found->real_path)};
      access_->allow_own_directories({directory_of(found->path), first->target_directory});
      if (!access_->within()) found->reopen = nullptr;
    }
    return locked_source(*std::move(found), force_);
  }

  static Result<std::shared_ptr<io::ByteSource>> source_of(FoundFile found) {
    return io::make_file_source(found.fd.release(), found.path, std::move(found.reopen));
  }

  static Result<std::shared_ptr<io::ByteSource>> locked_source(FoundFile found, bool force) {
    H5_TRY(check_lock(found.fd.get(), found.path, force));
    return source_of(std::move(found));
  }

  Result<FoundFile> find(const OpenedFile& from, std::string_view name, NameUse use) const {
    H5_ASSIGN(FoundFile found,
              access_->open_named({from.directory, from.target_directory}, std::string(name), use));
    const bool shown_as_itself = use == NameUse::Link || !access_->options().for_others;
    if (shown_as_itself || readable_by_all_readers(from.attributes, found.attributes)) return found;
    return fail(fewer_readers(found.path, from.path));
  }

  const std::shared_ptr<FileAccess> access_;
  const bool force_;
};

}  // namespace

std::shared_ptr<SourceOpener> make_local_opener(const ExternalAccess& access, bool force) {
  return std::make_shared<LocalOpener>(access, force);
}

std::shared_ptr<SourceOpener> make_directory_opener(std::shared_ptr<const SourceDirectory> directory,
                                                    const ExternalAccess& access, bool force) {
  return std::make_shared<LocalOpener>(access, force, std::move(directory));
}

// With the policy None: a source without a directory names nothing that could be found.
std::shared_ptr<SourceOpener> make_no_opener() {
  return make_local_opener(ExternalPolicy::None, false);
}

}  // namespace h5mount::object
