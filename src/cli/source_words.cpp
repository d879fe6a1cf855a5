#include "source_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "h5mount/remote/url.h"

namespace h5mount::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSources = 10'000'000;

Error bad_source(std::string text) {
  return {ErrorCode::InvalidValue, std::move(text)};
}

Status add_path(const std::string& path, SourceWords& out) {
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

Status add_lines(std::istream& lines, SourceWords& out) {
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && line.front() != '#') H5_TRY(add_path(line, out));
  }
  return {};
}

Status add_list(const std::string& file, SourceWords& out) {
  if (file == "-") return add_lines(std::cin, out);
  std::error_code none;
  if (fs::is_directory(file, none))
    return fail(Error(ErrorCode::Io,
                      file + " is a directory, not a list of sources: without the @ it is shown itself"));
  errno = 0;
  std::ifstream lines(file);
  if (!lines) return fail(io_error(errno, "reading the list of sources " + file));
  return add_lines(lines, out);
}

}  // namespace

std::string SourceWords::name() const {
  if (paths.size() == 1) return remote::shown_url(paths.front());
  return fmt::format("{} and {} more", remote::shown_url(paths.front()), paths.size() - 1);
}

bool SourceWords::far() const {
  return std::ranges::any_of(paths, remote::is_url);
}

bool SourceWords::many() const {
  return paths.size() > 1 || has_files_below(paths.front());
}

bool has_files_below(const std::string& path) {
  std::error_code none;
  if (!remote::is_url(path)) return fs::is_directory(path, none);
  const auto url = remote::parse_url(path);
  return url && url->is_prefix();
}

Result<SourceWords> read_source_words(const std::vector<std::string>& words) {
  SourceWords out;
  for (const std::string& word : words) {
    if (word.size() > 1 && word.front() == '@')
      H5_TRY(add_list(word.substr(1), out));
    else
      H5_TRY(add_path(word, out));
  }
  if (out.paths.empty()) return fail(bad_source("the list names no source: it has one on each line"));
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
