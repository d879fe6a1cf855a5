#include "h5mount/base/own_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace h5mount {

Result<UniqueFd> open_own_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(io_error(errno, "making the directory " + path));
  UniqueFd out(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat st = {};
  if (!out || ::fstat(out.get(), &st) != 0) return fail(io_error(errno, path));
  if (st.st_uid != ::geteuid())
    return fail({ErrorCode::AccessDenied, path + " belongs to somebody else: it must be your own"});
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail({ErrorCode::AccessDenied, path + ": others may write there: chmod 700 it"});
  return out;
}

}  // namespace h5mount
