// Whether inotify tells of all changes of a file.
#pragma once

#include <sys/vfs.h>

#include <string>

namespace h5mount::io {

// As statfs(2) describes the file system: not one that other machines, or other programs, change too.
bool tells_changes(const struct statfs& file_system);
bool tells_changes(const std::string& path);  // false where that cannot be found out

}  // namespace h5mount::io
