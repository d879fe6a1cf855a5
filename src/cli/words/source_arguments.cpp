#include "source_arguments.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "h5mount/base/unique_fd.h"
#include "h5mount/io/drivers.h"
#include "h5mount/remote/url.h"

namespace h5mount::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSources = 10'000'000;
constexpr std::size_t kMaxLineBytes = 64U << 10;
constexpr std::uint64_t kMaxListBytes = 4ULL << 30;

Error bad_source(std::string text) {
  return {ErrorCode::InvalidValue, std::move(text)};
}

Error no_source_named() {
  return bad_source("the list names no source: it has one on each line");
}

Status add_path(const std::string& path, SourceArguments& out) {
  if (out.paths.size() == kMaxSources)
    return fail(bad_source("more sources than can be shown at once: name a directory that they are in"));
  if (remote::is_url(path)) {
    H5_TRY(remote::parse_url(path));
    out.paths.push_back(path);
    return {};
  }
  out.paths.push_back(fs::absolute(path).lexically_normal().string());
  if (out.paths.back().size() > 1 && out.paths.back().ends_with('/')) out.paths.back().pop_back();
  return {};
}

bool is_anything(const std::string& path) {
  return std::ranges::any_of(io::first_member_candidates(path), [](const std::string& member) {
    struct stat st = {};
    return ::lstat(member.c_str(), &st) == 0;
  });
}

// Reads the lines of a list. What is no list may be secret (@/etc/shadow as root), so messages tell the
// number of a line and nothing of its text.
class SourceList {
 public:
  SourceList(std::string name, SourceArguments& out, std::vector<Error>& missing)
      : name_(std::move(name)), out_(out), missing_(missing) {}

  Status read(int fd) {
    std::string block(kMaxLineBytes, '\0');
    for (std::uint64_t bytes = 0;;) {
      const ssize_t got = ::read(fd, block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(io_error(errno, "reading the list of sources " + name_));
      if (got == 0) return line_.empty() ? Status() : end_line();
      bytes += static_cast<std::uint64_t>(got);
      if (bytes > kMaxListBytes) return fail(wrong("the list is too long"));
      H5_TRY(take({block.data(), static_cast<std::size_t>(got)}));
    }
  }

 private:
  Status take(std::string_view block) {
    while (!block.empty()) {
      const std::size_t end = block.find('\n');
      line_ += block.substr(0, end);
      if (line_.size() > kMaxLineBytes)
        return fail(wrong("it is longer than a path or URL: is this a list?"));
      if (end == std::string_view::npos) return {};
      block.remove_prefix(end + 1);
      H5_TRY(end_line());
    }
    return {};
  }

  Status end_line() {
    ++number_;
    const std::string line = std::exchange(line_, {});
    const std::string_view text =
        std::string_view(line).substr(0, line.size() - (line.ends_with('\r') ? 1 : 0));
    if (text.empty() || text.front() == '#') return {};
    if (text.contains('\0')) return fail(wrong("it has a byte of value 0: is this a list?"));
    if (const Status added = add_path(std::string(text), out_); !added)
      return fail(wrong(added.error().text()));
    if (remote::is_url(out_.paths.back()) || is_anything(out_.paths.back())) return {};
    out_.paths.pop_back();
    missing_.emplace_back(ErrorCode::NotFound, fmt::format("{}, line {}: no such file", name_, number_));
    return {};
  }

  Error wrong(const std::string& why) const {
    return bad_source(fmt::format("{}, line {}: {}", name_, number_ + (line_.empty() ? 0 : 1), why));
  }

  const std::string name_;
  SourceArguments& out_;
  std::vector<Error>& missing_;
  std::string line_;  // what has come of the next one
  std::uint64_t number_ = 0;
};

// Nothing but a regular file ends for sure: a device or a FIFO may have bytes without end, or none for ever.
Status add_list(const std::string& file, SourceArguments& out, std::vector<Error>& missing) {
  if (file == "-") return SourceList("standard input", out, missing).read(STDIN_FILENO);
  std::error_code none;
  if (fs::is_directory(file, none))
    return fail(Error(ErrorCode::Io,
                      file + " is a directory, not a list of sources: without the @ it is shown itself"));
  const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat st = {};
  if (!opened || ::fstat(opened.get(), &st) != 0)
    return fail(io_error(errno, "reading the list of sources " + file));
  if (!S_ISREG(st.st_mode))
    return fail(
        Error(ErrorCode::Io, file + " is no regular file, as a list of sources must be; @- reads one from "
                                    "standard input"));
  return SourceList(file, out, missing).read(opened.get());
}

}  // namespace

std::string SourceArguments::name() const {
  if (paths.size() == 1) return remote::shown_url(paths.front());
  return fmt::format("{} and {} more", remote::shown_url(paths.front()), paths.size() - 1);
}

bool SourceArguments::far() const {
  return std::ranges::any_of(paths, remote::is_url);
}

bool SourceArguments::many() const {
  return paths.size() > 1 || has_files_below(paths.front());
}

bool has_files_below(const std::string& path) {
  std::error_code none;
  if (!remote::is_url(path)) return fs::is_directory(path, none);
  const auto url = remote::parse_url(path);
  return url && url->is_prefix();
}

Result<SourceArguments> read_source_arguments(const std::vector<std::string>& words) {
  SourceArguments out;
  std::vector<Error> missing;
  for (const std::string& word : words) {
    if (word.size() > 1 && word.front() == '@') {
      H5_TRY(add_list(word.substr(1), out, missing));
      out.listed = true;
    } else {
      H5_TRY(add_path(word, out));
    }
  }
  if (!missing.empty()) return fail(missing.front());
  if (out.paths.empty()) return fail(no_source_named());
  return out;
}

Result<std::vector<std::string>> expand_source_words(const std::vector<std::string>& words,
                                                     std::vector<Error>& missing) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    if (!word.starts_with('@')) {
      out.push_back(word);
      continue;
    }
    SourceArguments listed;
    H5_TRY(add_list(word.substr(1), listed, missing));
    if (listed.paths.empty() && missing.empty()) return fail(no_source_named());
    out.insert(out.end(), listed.paths.begin(), listed.paths.end());
  }
  return out;
}

Result<std::string> automatic_mountpoint(const std::vector<std::string>& words) {
  const std::string& word = words.front();
  if (word == "@-") return fail(bad_source("the sources that standard input names need a MOUNTPOINT"));
  const bool list = word.size() > 1 && word.front() == '@';
  std::error_code none;
  const std::string shown = remote::shown_url(list ? word.substr(1) : word);
  const fs::path source = fs::absolute(shown).lexically_normal();
  std::string name = (source.has_filename() ? source : source.parent_path()).filename().string();
  const bool whole = list || has_files_below(word);
  if (!whole) {
    const fs::path stem = fs::path(name).stem();
    name = stem == fs::path(name) ? name + ".mount" : stem.string();
  }
  if (name.empty()) return fail(bad_source(word + " has no name for a mount point: name a MOUNTPOINT"));
  const fs::path here = fs::absolute(name);
  if (here == source || fs::equivalent(here, source, none)) name += ".mount";
  return fs::absolute(name).string();
}

}  // namespace h5mount::cli
