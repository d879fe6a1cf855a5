// A forest: many sources as one tree, in which each HDF5 file is a directory under its whole name with
// everything that a tree of that file alone shows. Files are opened when something below them is requested,
// and closed by age; directories and their entries are looked up in the source, for which no file has to be
// opened.
//
// Sources are listed by a ForestDirectory: a directory of files, a list of names, or a server that lists the
// files that it has. Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/join/joined_file.h"
#include "h5mount/object/source_directory.h"
#include "h5mount/tree/catalogue_store.h"
#include "h5mount/tree/tree.h"

namespace h5mount::tree {

// An entry of a forest's directory.
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
  struct LeftOut {
    std::uint64_t files = 0;
    std::string first;  // the name of one of them
    void add(const std::string& name) {
      if (files++ == 0) first = name;
    }
  };
  struct Listing {
    std::vector<Item> items;
    std::size_t files = 0;  // of the items; the others are directories of the source
    LeftOut left_out;       // files that are not shown for their names
  };
  virtual Result<Listing> list() const = 0;
  // Fails with NotFound also for an entry that is not shown. An empty name stands for the directory itself.
  virtual Result<ForestEntry> find_entry(const std::string& name) const = 0;
  virtual Result<std::shared_ptr<const ForestDirectory>> enter(const std::string& name) const = 0;
  virtual Result<std::shared_ptr<object::FileSet>> open(const std::string& name) const = 0;
  virtual Result<std::shared_ptr<io::ByteSource>> open_plain(const std::string& /*name*/) const {
    return fail({ErrorCode::NotFound, "no such file"});
  }
  // A descriptor of the directory for inotify. Fails if it is not a directory, or if changes to it are not
  // reported.
  virtual Result<UniqueFd> watchable() const = 0;
  // The place in the forest where the file that `stored` names is shown; nullopt if it is not shown. The name
  // is in a file of this directory, which was opened in `from`.
  struct Shown {
    std::string relative;  // its path in the forest, seen from this directory
    std::shared_ptr<const ForestDirectory> in;
    std::string name;
    // As they are for users who have to pass the directories between this source's root and the file.
    object::FileAttributes attributes;
  };
  virtual std::optional<Shown> shown_at(const std::string& from, std::string_view stored) const = 0;
  virtual std::string name() const = 0;  // for messages
  // The joined file that `open` opens; null: it opens files as they are.
  virtual join::JoinedFilePtr joined() const { return nullptr; }
};
using ForestDirectoryPtr = std::shared_ptr<const ForestDirectory>;

// Tells how many files of a directory, which has that name in messages, are not shown for their names: once
// for each directory, in /.h5/log alone. If nothing is shown at all, that is a warning, which goes to stderr
// too.
enum class ShowsSomething : bool { No, Yes };
void tell_of_left_out(const std::string& directory, const ForestDirectory::LeftOut& left_out,
                      ShowsSomething shows);
// The same for the top of a forest, before it is used. If the top shows no file, those below it are looked
// for.
void tell_of_left_out(const ForestDirectory& top);

// Which files of a directory are shown: HDF5 files by their extensions, or by a pattern instead.
struct ShownFiles {
  std::string pattern = {};  // as of a shell; empty: extensions count
  bool passthrough = false;  // other regular files are there as they are

  // Hdf5 or Plain; nullopt if the file is not shown.
  std::optional<ForestEntry::Kind> kind_of(const std::string& name) const;

 private:
  bool is_hdf5(const std::string& name) const;
};

// A directory of files. `open` opens one of its files by its path below `top`.
using OpenBelow = std::function<Result<std::shared_ptr<object::FileSet>>(
    const std::shared_ptr<const object::SourceDirectory>& top, const std::string& relative)>;
ForestDirectoryPtr make_local_directory(std::shared_ptr<const object::SourceDirectory> top, ShownFiles shown,
                                        OpenBelow open);

// Files that a server lists. It is asked for the names of a directory when the directory is listed, and for a
// single name otherwise; its answers are valid for a minute. A directory is "" or a text that ends in '/'.
struct ListedName {
  std::string name;  // any bytes but '/'; empty, of a file: one that has the directory's own name
  bool directory = false;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // seconds since 1970
  std::uint64_t version = 0;  // differs if the bytes do
};
struct ListedPage {
  std::vector<ListedName> names;
  std::string next;  // where the listing continues; empty: there are no more
};
struct ListedFiles {
  std::string name;  // for messages; it shows no secret, and ends in '/'
  ShownFiles shown;
  // At most `most` names of a directory that begin with `begin`; `next` is that of the previous page.
  std::function<Result<ListedPage>(const std::string& directory, const std::string& begin,
                                   const std::string& next, unsigned most)>
      list;
  // Opens a file by its directory and name.
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
  // `passes`: the number of passes that are making a catalogue.parquet; `told`: the files that they have
  // described so far, of `to_tell` in all. Since the mount began: the files that were opened for a catalogue,
  // and those whose lines the store had (`remembered`).
  std::uint64_t passes = 0, told = 0, to_tell = 0, opened = 0, remembered = 0;
  std::optional<join::JoinCounts> joined = {};  // nullopt: nothing is joined
};

struct ForestOptions {
  TreeOptions tree;
  // Everything that a file's tree needs, once its files are open.
  std::function<dataset::ReadEnvironment(std::shared_ptr<object::FileSet> files)> environment;
  std::shared_ptr<Counters> counters = std::make_shared<Counters>();
  std::size_t most_trees = 1024;  // those beyond are dropped as soon as nobody uses them
  // Requests may come from any user: what others may not read in the source is refused here, as no kernel
  // checks it.
  bool checks_others = false;
  // Any user may read the catalogue: a file that others may not read in the source is an error in it. The
  // kernel checks everything else.
  bool catalogue_for_others = false;
  std::shared_ptr<CatalogueStore> remembered = nullptr;  // what files hold; null: nothing is
  std::optional<join::Options> join = {};                // how the files are joined; nullopt: they are not
  bool far = false;                                      // opening a file costs round trips
};

// The files below `top` as one, as `options.join` says; null if that says nothing.
join::JoinedFilePtr make_joined_file(ForestDirectoryPtr top, const ForestOptions& options);

class Forest : public Tree {
 public:
  static std::shared_ptr<Forest> make(ForestDirectoryPtr top, ForestOptions options);
  virtual ForestCounts counts() const = 0;

 protected:
  using Tree::Tree;
};

}  // namespace h5mount::tree
