// Whether inotify reports all changes to a file.
#pragma once

#include <sys/vfs.h>

#include <string>

namespace h5mount::io {

// Judged by the file system, as statfs(2) describes it: false if other machines or other programs change it
// too.
bool notifies_changes(const struct statfs& file_system);
bool notifies_changes(const std::string& path);  // false if that cannot be found out

}  // namespace h5mount::io
