// What the words of a command line that stand for sources mean: files, directories, and lists of sources.
#pragma once

#include <string>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::cli {

struct SourceWords {
  // Absolute, not resolved: messages show what the user wrote. URLs as they are.
  std::vector<std::string> paths;
  // For messages, df and findmnt: the path, or the first one and how many more there are.
  std::string name() const;
  // Whether they are shown as one tree of many files: several, or what has files below it.
  bool many() const;
  // Whether one of them is a URL.
  bool far() const;
};

// Whether a source has files below it: a directory, or s3://BUCKET/PREFIX/.
bool has_files_below(const std::string& path);

// Each word is a path, a URL, `@FILE`, which stands for the sources that FILE names, a line each, or `@-`,
// which reads them from standard input; empty lines and those that begin with `#` do not count. Relative
// paths are relative to the working directory. Errors: NotFound and Io where a list cannot be read;
// InvalidValue for a URL that cannot be read, and where nothing is named.
Result<SourceWords> read_source_words(const std::vector<std::string>& words);

// The name of the mount point that is made for a source where none is given, in the working directory:
// the last name, of a file without its extension. `.mount` follows where a file has none, and where the name
// is the source itself. InvalidValue where a word has no name to be used.
Result<std::string> automatic_mountpoint(const std::vector<std::string>& words);

}  // namespace h5mount::cli
