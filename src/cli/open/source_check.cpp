#include "source_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "h5mount/base/foreign_format.h"
#include "h5mount/base/structures.h"
#include "h5mount/base/unique_fd.h"
#include "h5mount/io/drivers.h"

namespace h5mount::cli {
namespace {

Error unreadable(std::string text) {
  return {ErrorCode::Io, std::move(text)};
}

// The existing file that `path` names, itself or as the first member of a set.
std::optional<std::string> existing(const std::string& path) {
  for (const std::string& name : io::first_member_candidates(path)) {
    struct stat st = {};
    if (::stat(name.c_str(), &st) == 0) return name;
  }
  return std::nullopt;
}

// The target of a dangling symlink; empty if `path` is not one.
std::string dangling_target(const std::string& path) {
  std::error_code none;
  return std::filesystem::read_symlink(path, none).string();
}

Error missing(const std::string& path) {
  const std::string target = dangling_target(path);
  if (target.find(".git/annex/objects/") != std::string::npos) {
    return {ErrorCode::NotFound, path + " is a git-annex link whose data is not here: run git annex get"};
  }
  if (!target.empty())
    return {ErrorCode::NotFound, path + " is a symlink to " + target +
                                     ", which does not exist: make it lead to the file (ln -sfn)"};
  if (io::is_family_name(path)) {
    return {ErrorCode::NotFound,
            "no such file: " + io::family_member_path(path, 0) + ", the first of the set " + path};
  }
  return {ErrorCode::NotFound, "no such file: " + path};
}

Error not_reached(const std::string& path, int reason) {
  if (reason == ENOENT || reason == ENOTDIR) return missing(path);
  if (reason == ENOTCONN) {
    return unreadable(
        path + " is on a FUSE file system whose program has ended: unmount that one (fusermount3 -uz)");
  }
  if (reason == EACCES) {
    return {
        ErrorCode::AccessDenied,
        fmt::format("{} cannot be reached: a directory above it may not be searched by user {}; its owner "
                    "allows it with chmod +x",
                    path, ::geteuid())};
  }
  return io_error(reason, path + " cannot be reached");
}

Error not_opened(const std::string& path, const struct stat& st, int reason) {
  if (reason != EACCES && reason != EPERM) return io_error(reason, path + " cannot be opened");
  return {ErrorCode::AccessDenied,
          fmt::format("{} cannot be opened: {} (its owner is user {}, its mode {:04o}, and this is user {})",
                      path, std::strerror(reason), st.st_uid, st.st_mode & 07777, ::geteuid())};
}

// Errors: NotFound, AccessDenied, Io.
Status check_readable(const std::string& path) {
  const std::string file = existing(path).value_or(path);
  struct stat st = {};
  if (::stat(file.c_str(), &st) != 0) return fail(not_reached(path, errno));
  if (S_ISDIR(st.st_mode))
    return fail(unreadable(file + " is a directory; name the HDF5 file to be mounted"));
  if (!S_ISREG(st.st_mode))
    return fail(unreadable(file + " is not a regular file: copy what it gives into one"));
  const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!opened) return fail(not_opened(file, st, errno));
  return {};
}

// A file that ends inside its superblock is reported as one that was cut behind it.
std::optional<Error> cut_in_superblock(const std::string& file, const Error& error) {
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  const bool in_fields = error.code() == ErrorCode::Truncated && error.structure() == structures::kSuperblock;
  if (!in_fields && error.code() != ErrorCode::BadSignature) return std::nullopt;
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(file, none);
  if (none || bytes == 0) return std::nullopt;
  if (!in_fields) {
    if (bytes >= kSignature.size()) return std::nullopt;
    std::string begin(static_cast<std::size_t>(bytes), '\0');
    if (!std::ifstream(file, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(bytes)) ||
        begin != kSignature.substr(0, begin.size()))
      return std::nullopt;
  }
  return Error(error.code(), fmt::format("{} bytes, which end inside the superblock: an incomplete copy? {}",
                                         bytes, error.text()));
}

}  // namespace

Error why_not_opened(const std::string& path, const Error& error) {
  if (const Status readable = check_readable(path); !readable) return readable.error();
  const std::string file = existing(path).value_or(path);
  if (const auto cut = cut_in_superblock(file, error)) return *cut;
  if (error.code() != ErrorCode::BadSignature) return error;
  if (const auto format = foreign_file(file)) return {ErrorCode::BadSignature, file + " is " + *format};
  return error;
}

}  // namespace h5mount::cli
