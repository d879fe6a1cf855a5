// The words of a command line that stand for sources: files, directories, and lists of sources.
#pragma once

#include <string>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::cli {

struct SourceArguments {
  // Paths are absolute but not resolved, as messages show what the user wrote. URLs are left as they are.
  std::vector<std::string> paths;
  bool listed = false;  // some are from a list
  // For messages, df and findmnt: the path, or the first one and the number of further ones.
  std::string name() const;
  // Whether the sources are shown as one tree of many files: there are several, or one that has files below
  // it.
  bool many() const;
  // Whether one of them is a URL.
  bool far() const;
};

// Whether a source has files below it: a directory, or s3://BUCKET/PREFIX/.
bool has_files_below(const std::string& path);

// Each word is a path, a URL, `@FILE`, which stands for the sources that FILE names, one on each line, or
// `@-`, which reads them from standard input; empty lines and lines that begin with `#` are ignored. Relative
// paths are relative to the working directory. Fails with NotFound or Io if a list cannot be read, is no
// regular file, or names a file that does not exist (whose name is not shown), and with InvalidValue for a
// URL that cannot be parsed, for what is no list, or if nothing is named.
Result<SourceArguments> read_source_arguments(const std::vector<std::string>& words);

// The words as they were written, with lists replaced by the sources in them. What does not exist of a list
// is `missing`.
Result<std::vector<std::string>> expand_source_words(const std::vector<std::string>& words,
                                                     std::vector<Error>& missing);

// The name of the mount point that is made for a source in the working directory if none is given: the
// source's last name, without the extension if it is a file. `.mount` is appended if a file has no extension,
// or if the name would be that of the source itself. Fails with InvalidValue if a word has no usable name.
Result<std::string> automatic_mountpoint(const std::vector<std::string>& words);

}  // namespace h5mount::cli
