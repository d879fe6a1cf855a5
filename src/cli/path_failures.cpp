#include "path_failures.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "h5mount/base/text.h"
#include "h5mount/front/path_walk.h"
#include "open/advice.h"
#include "words/exit_codes.h"

namespace h5mount::cli {
namespace {

constexpr std::size_t kMaxNames = 10'000, kLongestName = 48;

// The name in `directory` that is nearest to `word`; empty if none is near.
std::string nearest_name(tree::Tree& tree, tree::NodeId directory, std::string_view word) {
  const auto listing = tree.open_directory(directory);
  if (!listing) return {};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min((*listing)->size(), kMaxNames); ++i) {
    std::string name = (*listing)->name_at(i);
    if (name.size() <= kLongestName) names.push_back(std::move(name));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return std::string(suggestion(word, views));
}

// The hint for a group that cannot be opened, which is shown as a file; empty for other files.
std::string damage_hint(tree::Tree& tree, const front::FoundNode& found, AdviceOnce& once) {
  const auto opened = tree.open(found.node.id());
  if (opened) return {};
  const std::string_view advice = once.next(opened.error());
  return fmt::format("{}{}{}", opened.error().text(), advice.empty() ? "" : "; ", advice);
}

// "did you mean /group/name?", or how to list the existing names; empty if `path` exists after all. `file`:
// as the user named it. Lists one directory, of which it looks at a bounded number of names. The caller holds
// the tree's pin. `once`: of the command.
std::string suggest_path(const std::shared_ptr<tree::Tree>& tree, const std::string& file,
                         std::string_view path, AdviceOnce& once) {
  while (path.starts_with('/')) path.remove_prefix(1);
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (!front::find_path(tree, path.substr(0, end), front::LastLink::Follow)) {
      const std::string_view parent = path.substr(0, begin == 0 ? 0 : begin - 1);
      const auto directory = front::find_path(tree, parent, front::LastLink::Follow);
      if (!directory) return {};
      if (directory->stat.type != tree::NodeType::Directory) return damage_hint(*tree, *directory, once);
      const std::string meant = nearest_name(*tree, directory->node.id(), path.substr(begin, end - begin));
      if (!meant.empty()) return fmt::format("did you mean /{}?", front::joined_path(parent, meant));
      return fmt::format("h5mount --list {} /{} tells the names that there are", file, parent);
    }
    begin = end + 1;
  }
  return {};
}

// Whether the path that was not found is another file: a command takes one FILE, and the words after it are
// PATHs in it.
bool is_other_file(const std::string& path, const Error& error) {
  struct stat st = {};
  return error.code() == ErrorCode::NotFound && ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

}  // namespace

front::FailureHandler failure_handler(const std::shared_ptr<tree::Tree>& tree, const std::string& file,
                                      bool& any) {
  constexpr int kMaxHints = 4;
  return [&tree, &file, &any, hints = 0, once = AdviceOnce()](std::string_view path,
                                                              const Error& error) mutable {
    any = true;
    if (is_other_file(std::string(path), error)) {
      print_error("",
                  fmt::format("{} has no /{}. To read the file {}, give it to a command of its own: each has "
                              "one FILE, and the names behind it are paths in that file",
                              file, path, path));
      return;
    }
    std::string place(path);
    if (!place.starts_with('/')) place.insert(place.begin(), '/');
    std::string words = error.text();
    if (const std::string_view advice = once.next(error); !advice.empty())
      words += fmt::format("; {}", advice);
    if (error.code() == ErrorCode::NotFound && ++hints <= kMaxHints)
      if (const std::string hint = suggest_path(tree, file, path, once); !hint.empty()) words += "; " + hint;
    print_error("", file + ": " + (words.find(place) == std::string::npos ? place + ": " + words : words));
  };
}

}  // namespace h5mount::cli
