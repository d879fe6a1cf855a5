// A file system with faults, for tests: shows the files of a directory, and reads as a file of rules says.
//
//   fault_fs DIRECTORY RULES MOUNTPOINT [-o OPTION,…] [-f]
//
// RULES is read again at every request; a file that is not there, or empty, means no faults. A line each:
//
//   eio BEGIN END     a read that touches a byte of [BEGIN, END) is EIO
//   hang BEGIN END    such a read waits until the rule is gone, or the reader is interrupted (EINTR)
//   short MOST        a read returns at most MOST bytes
//   delay MS          every read takes so much longer
//   size BYTES        files end there
//
// Files are opened with direct_io, so that every read of theirs is a request; they cannot be mapped shared.
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string g_directory, g_rules;

struct Range {
  std::uint64_t begin = 0, end = 0;
  bool touches(std::uint64_t offset, std::uint64_t length) const {
    return offset < end && begin < offset + length;
  }
};

struct Rules {
  std::vector<Range> eio, hang;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max(), size = most;
  std::chrono::milliseconds delay{0};

  static Rules load() {
    Rules rules;
    std::ifstream file(g_rules);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string rule;
      std::uint64_t first = 0, second = 0;
      words >> rule >> first >> second;
      if (rule == "eio") rules.eio.push_back({first, second});
      if (rule == "hang") rules.hang.push_back({first, second});
      if (rule == "short") rules.most = std::max<std::uint64_t>(first, 1);
      if (rule == "delay") rules.delay = std::chrono::milliseconds(first);
      if (rule == "size") rules.size = first;
    }
    return rules;
  }
};

bool touches(const std::vector<Range>& ranges, std::uint64_t offset, std::uint64_t length) {
  return std::ranges::any_of(ranges, [&](const Range& range) { return range.touches(offset, length); });
}

std::string real_path(const char* path) {
  return g_directory + path;
}

int fault_getattr(const char* path, struct stat* out, fuse_file_info*) {
  if (::lstat(real_path(path).c_str(), out) != 0) return -errno;
  if (S_ISREG(out->st_mode))
    out->st_size = static_cast<off_t>(std::min(Rules::load().size, static_cast<std::uint64_t>(out->st_size)));
  return 0;
}

int fault_readdir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*,
                  fuse_readdir_flags) {
  DIR* const directory = ::opendir(real_path(path).c_str());
  if (directory == nullptr) return -errno;
  while (const dirent* const entry = ::readdir(directory))
    fill(buffer, entry->d_name, nullptr, 0, static_cast<fuse_fill_dir_flags>(0));
  ::closedir(directory);
  return 0;
}

int fault_open(const char* path, fuse_file_info* info) {
  const int opened = ::open(real_path(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return -errno;
  info->fh = static_cast<std::uint64_t>(opened);
  info->direct_io = 1;
  return 0;
}

int fault_read(const char*, char* out, std::size_t size, off_t offset, fuse_file_info* info) {
  const auto at = static_cast<std::uint64_t>(offset);
  Rules rules = Rules::load();
  while (touches(rules.hang, at, size)) {
    if (fuse_interrupted() != 0) return -EINTR;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    rules = Rules::load();
  }
  if (rules.delay.count() > 0) std::this_thread::sleep_for(rules.delay);
  if (at >= rules.size) return 0;
  const std::uint64_t wanted = std::min({std::uint64_t{size}, rules.most, rules.size - at});
  if (touches(rules.eio, at, wanted)) return -EIO;
  const ssize_t got = ::pread(static_cast<int>(info->fh), out, wanted, offset);
  return got < 0 ? -errno : static_cast<int>(got);
}

int fault_release(const char*, fuse_file_info* info) {
  ::close(static_cast<int>(info->fh));
  return 0;
}

void* fault_init(fuse_conn_info*, fuse_config* config) {
  config->attr_timeout = 0;
  config->entry_timeout = 0;
  return nullptr;
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  char* const directory = ::realpath(words[1], nullptr);
  if (directory == nullptr) return 2;
  g_directory = directory;
  std::free(directory);
  g_rules = words[2];
  std::vector<char*> rest{words[0]};
  rest.insert(rest.end(), words + 3, words + count);
  fuse_operations operations = {};
  operations.getattr = fault_getattr;
  operations.readdir = fault_readdir;
  operations.open = fault_open;
  operations.read = fault_read;
  operations.release = fault_release;
  operations.init = fault_init;
  return fuse_main(static_cast<int>(rest.size()), rest.data(), &operations, nullptr);
}
