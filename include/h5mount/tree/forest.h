// A forest: many sources as one tree, in which each HDF5 file is a directory under its whole name with all
// that a tree of that file alone shows. Files are opened when something below them is wanted, and closed by
// age; directories and their entries are looked at in the source, which no file need be opened for.
//
// What lists sources is a ForestDirectory: a directory of files, a list of names, or a server that lists the
// files that it has. Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/object/source_directory.h"
#include "h5mount/tree/line_store.h"
#include "h5mount/tree/tree.h"

namespace h5mount::tree {

// What a name of a forest's directory is.
struct ForestEntry {
  enum class Kind : std::uint8_t {
    Directory,
    Hdf5,     // a directory too, with what the file holds
    Plain,    // a file that is shown as it is
    Symlink,  // to another place of the forest
    Refused,  // a symlink that leads out, nowhere or in a circle: an entry that nobody can open
  };
  Kind kind = Kind::Directory;
  object::SourceEntry source;
  std::string target;          // of Symlink: its text, relative to the directory that it is in
  std::optional<Error> error;  // of Refused
};

class ForestDirectory {
 public:
  virtual ~ForestDirectory() = default;

  struct Item {
    std::string name;
    NodeType type;
  };
  virtual Result<std::vector<Item>> list() const = 0;
  // NotFound also for what is not shown. Of an empty name: the directory itself.
  virtual Result<ForestEntry> look(const std::string& name) const = 0;
  virtual Result<std::shared_ptr<const ForestDirectory>> enter(const std::string& name) const = 0;
  virtual Result<std::shared_ptr<object::FileSet>> open(const std::string& name) const = 0;
  virtual Result<std::shared_ptr<io::ByteSource>> open_plain(const std::string& name) const = 0;
  // For inotify: a descriptor of the directory. Errors: it is no directory, or changes of it are not told.
  virtual Result<UniqueFd> watchable() const = 0;
  // Where the file that `stored` names, in a file of this directory that was opened in `from`, is shown;
  // nothing where it is not.
  struct Shown {
    std::string relative;  // its path in the forest, seen from this directory
    std::shared_ptr<const ForestDirectory> in;
    std::string name;
    // As users see it who must come through the directories between this source's root and the file.
    object::FileAttributes attributes;
  };
  virtual std::optional<Shown> shown_at(const std::string& from, std::string_view stored) const = 0;
  virtual std::string name() const = 0;  // for messages
};
using ForestDirectoryPtr = std::shared_ptr<const ForestDirectory>;

// Which files of a directory are shown: HDF5 files by their extensions, or by a pattern in place of these.
struct ShownFiles {
  std::string pattern = {};  // as of a shell; empty: extensions count
  bool passthrough = false;  // other regular files are there as they are

  // Hdf5 or Plain; nothing: it is not shown.
  std::optional<ForestEntry::Kind> kind_of(const std::string& name) const;

 private:
  bool is_hdf5(const std::string& name) const;
};

// A directory of files. `open` opens one of its files by its path below `top`.
using OpenBelow = std::function<Result<std::shared_ptr<object::FileSet>>(
    const std::shared_ptr<const object::SourceDirectory>& top, const std::string& relative)>;
ForestDirectoryPtr make_local_directory(std::shared_ptr<const object::SourceDirectory> top, ShownFiles shown,
                                        OpenBelow open);

// Files that a server lists: it is asked for the names of a directory when that is looked into, and for one
// name alone where it is not; what it says holds for a minute. Directories are "" and texts that end in '/'.
struct ListedName {
  std::string name;  // any bytes but '/'; empty, of a file: one that has the directory's own name
  bool directory = false;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // seconds since 1970
  std::uint64_t version = 0;  // differs where the bytes do
};
struct ListedPage {
  std::vector<ListedName> names;
  std::string next;  // where they go on; empty: there are no more
};
struct ListedFiles {
  std::string name;  // for messages; it shows no secret, and ends in '/'
  ShownFiles shown;
  // At most `most` names of a directory that begin with `begin`, `next` being that of the page before.
  std::function<Result<ListedPage>(const std::string& directory, const std::string& begin,
                                   const std::string& next, unsigned most)>
      list;
  // A file by its directory and name.
  std::function<Result<std::shared_ptr<object::FileSet>>(const std::string& path)> open;
  std::function<Result<std::shared_ptr<io::ByteSource>>(const std::string& path)> open_plain;
};
ForestDirectoryPtr make_listed_directory(ListedFiles files);

// Sources side by side, each under its last name; the second of that name gets ` (2)`, the third ` (3)`.
struct NamedSource {
  std::string path;                        // absolute, or a URL
  std::string shown;                       // the path without what is secret
  ForestDirectoryPtr directory = nullptr;  // null: a file
};
using OpenNamed = std::function<Result<std::shared_ptr<object::FileSet>>(const std::string& path)>;
ForestDirectoryPtr make_named_sources(std::vector<NamedSource> sources, OpenNamed open);

struct ForestCounts {
  std::uint64_t known = 0;  // files and directories that somebody has looked up and not forgotten
  std::uint64_t trees = 0;  // of files, in memory
  std::uint64_t watches = 0;
  // Of the passes that are making a catalogue.parquet: how many, the files told so far, and all; and since
  // the mount began, the files that were opened for a catalogue, and those of which the store had the lines.
  std::uint64_t passes = 0, told = 0, to_tell = 0, opened = 0, remembered = 0;
};

struct ForestOptions {
  TreeOptions tree;
  // What a file's tree needs, its files being open.
  std::function<dataset::ReadEnvironment(std::shared_ptr<object::FileSet> files)> environment;
  std::shared_ptr<Counters> counters = std::make_shared<Counters>();
  std::size_t most_trees = 1024;  // those beyond are dropped as soon as nobody uses them
  // Whoever asks is any user: what others may not read in the source is refused here, as no kernel checks it.
  bool checks_others = false;
  // Any user may read the catalogue: what others may not read in the source is an error in it. The kernel
  // checks the rest.
  bool catalogue_for_others = false;
  std::shared_ptr<LineStore> remembered = nullptr;  // lines of the catalogue; null: nothing is
};

class Forest : public Tree {
 public:
  static std::shared_ptr<Forest> make(ForestDirectoryPtr top, ForestOptions options);
  virtual ForestCounts counts() const = 0;

 protected:
  using Tree::Tree;
};

}  // namespace h5mount::tree
