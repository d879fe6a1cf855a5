// Tree: an HDF5 file as a tree of nodes with names, attributes and bytes. No FUSE types: module `fuse`
// translates; tests and a whole-file fuzzer walk it directly.
//
// Nodes have NodeIds, which lookup and readdir return; references are counted per lookup and dropped by
// forget (as in FUSE). Threads: every function from any thread at once; no lock is held while reading a file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "h5mount/dataset/open_dataset.h"
#include "h5mount/join/joined_file.h"
#include "h5mount/tree/files_read.h"

namespace h5mount::tree {

// A budget of its own, as the argument of a call that is part of no request.
class OwnBudget {
 public:
  operator RequestBudget&() { return budget_; }

 private:
  RequestBudget budget_;
};

using NodeId = std::uint64_t;  // 1 is the root; never reused while the tree lives
inline constexpr NodeId kRootNode = 1;

enum class NodeType : std::uint8_t { Directory, File, Symlink };

// What the files /.h5/references.* tell to programs that read the bytes from the HDF5 file itself.
struct ReferenceOptions {
  // Stands for the directory `root`; empty: files are named by their own paths and URLs.
  std::string url;
  std::string root;  // the directory of the source, absolute, or a URL; empty: that of the mounted file
  bool may_name_paths = true;  // false: without `url` no file is named by its path, and there are none
  // Chunks that such programs cannot read from there are held inside, or their datasets are left out, or they
  // are named by their address at an h5mount server of the same source.
  enum class Others : std::uint8_t { Held, LeftOut, Served };
  Others others = Others::Held;
  // Of that server: its URL. It serves `root`, or the mounted file if that is empty.
  std::string server;
};

// Every node shows the owner, the read bits and the time of its file.
struct TreeOptions {
  std::optional<std::uint32_t> uid, gid;              // instead of the file's
  std::uint32_t file_umask = 0, directory_umask = 0;  // permission bits to remove
  std::function<std::string()> status = nullptr;      // the text of /.h5/status; null: there is none
  ReferenceOptions references = {};
  join::JoinedFilePtr joined = nullptr;  // the tree is that of this joined file; null: of another file
  bool logs_failed_reads = true;         // false: the front end names every object that cannot be read
  // If the file is one of many: the path, relative to this file's root, at which the file that an external
  // link names is shown; nullopt if it is not shown. Null: no other file is shown.
  std::function<std::optional<std::string>(std::string_view name)> sibling = nullptr;
};

struct NodeStat {
  NodeType type = NodeType::File;
  std::uint64_t ino = 0;  // stable from mount to mount
  std::uint64_t size = 0;
  std::uint64_t blocks = 0;  // 512-byte units
  std::uint32_t nlink = 1;
  std::uint32_t mode = 0;  // permission bits, those of its file
  // Its object cannot be read: front ends show no permission bits, whoever may read the file.
  bool unreadable = false;
  std::uint32_t uid = 0, gid = 0;
  std::int64_t mtime = 0;
  std::uint32_t mtime_nanoseconds = 0;  // behind the second
  // False if a number would have cost too much at this depth (the size of a text, the blocks of a large chunk
  // index), or if a later size is about to be published. The caller then lets the kernel ask again (attribute
  // timeout 0).
  bool complete = true;
  bool follows = false;  // as Tree::follows
  // True if changes to what was looked up are not reported: it must be looked up again after a second.
  bool unreported = false;
};

enum class StatDepth : std::uint8_t {
  Listing,  // for lookup and readdirplus: what is cheap
  Size,     // size exact; blocks may be an estimate (the file is open: it is being read, not measured)
  Full,     // everything exact
};

class FileObject;

struct Entry {
  NodeId node = 0;
  NodeStat stat;
};

// A file whose bytes a node shows, or a dataset of it.
struct NodeSource {
  std::string file;    // its path; empty if it has none
  std::string object;  // path of the dataset whose elements are shown; empty: names, attributes, structure
  bool own = true;     // it is the file that the node is of: the mounted one, or of many the one around it
  bool all_in_file = true;  // false: elements of the dataset may lie in other files, which it names
};

// A file that a tree shows, in its present state. What is read from it afterwards may be newer, but never
// older.
struct FileOfNode {
  std::string path;           // of the directory that shows it, without a leading `/`; empty: the tree's root
  std::uint64_t number = 0;   // another one if another file has the name
  std::uint64_t version = 0;  // another one after every change of it
  std::int64_t modified = 0;  // nanoseconds since 1970
  bool replaced = false;      // the name leads to another one now; what is read is still this one's
  bool plain = false;         // it is no HDF5 file: the node shows all of it, as it is
};

// A directory's listing, made at opendir; positions are stable for its life.
class DirectoryListing {
 public:
  struct Item {
    std::string_view name;  // as shown; valid while the listing and `made` are
    NodeType type;
    std::uint64_t ino = 0;  // st_ino; 0 if the link alone does not determine it
    bool type_known =
        true;  // false: a hard link whose object was not opened yet (DT_UNKNOWN); `type` is undefined
  };
  virtual ~DirectoryListing() = default;
  virtual std::size_t size() const = 0;
  // `made` holds the name if the listing does not.
  virtual Item at(std::size_t position, std::string& made) const = 0;
  std::string name_at(std::size_t position) const {
    std::string made;
    return std::string(at(position, made).name);
  }
  // The same with the type, if the first bytes of the object's header determine it: for readers that get only
  // the listing, and would otherwise look up every entry.
  virtual Item typed_at(std::size_t position, std::string& made) const { return at(position, made); }
  // Why entries may be missing: a reader gets the entries that can be read, and then this error. Null if the
  // listing is complete.
  virtual const Error* damage() const { return nullptr; }
  // The objects that are left out although the listing is complete for its readers, as they cannot be read:
  // front ends that take the whole directory name it.
  struct LeftOut {
    std::string name;  // as shown
    Error why;
  };
  virtual std::span<const LeftOut> left_out() const { return {}; }
};

// The kernel's page cache, as far as the tree changes it: in a growing file some pages become stale, and some
// can be stored before they are requested. Module `fuse` implements it. Threads: any.
class KernelPages {
 public:
  virtual ~KernelPages() = default;

  // Queues the invalidation of a node's attributes and of its pages with these bytes. `done` (may be null) is
  // called afterwards, by another thread; but not if the mount ends before. Never waits: dropping a page
  // waits for running reads of it, so a thread that must answer reads cannot do it.
  virtual void invalidate(NodeId node, const std::vector<dataset::ByteRange>& ranges,
                          std::function<void()> done = nullptr) = 0;
  // The same for a name in a directory, and for everything below it.
  virtual void invalidate_name(NodeId directory, const std::string& name) { (void)directory, (void)name; }

  // Stores pages of a node in the kernel's cache: whole ones, except for the last of the file. Waits for
  // running reads of them, so a thread that must answer reads may not call it. Returns false if the kernel
  // did not accept them.
  virtual bool store(NodeId node, std::uint64_t offset, const dataset::Pieces& pieces) = 0;
};

// The bytes of an open file as they were when it was opened, for callers that pass some of them on before
// they are requested.
struct FixedImage {
  std::shared_ptr<const dataset::DatasetReader> reader;  // of all the file's bytes
  dataset::ReadEnvironment environment;
  // Whether the file is unchanged since then: to be called before bytes are passed on, and once more after
  // `kernel_only` pieces were copied. Keeps the node.
  std::function<bool()> as_opened;
};

// An open file.
class OpenNode {
 public:
  virtual ~OpenNode() = default;
  // False if the bytes are those of the moment of opening: pages that the kernel kept from before may differ.
  virtual bool keeps_pages() const { return true; }
  // True if the content changes continuously: every read is a request, and the kernel caches no pages and no
  // size.
  virtual bool direct() const { return false; }
  // Whether some of the bytes are known to be lost: a reader that takes fewer bytes than it asked for is then
  // to get those before the lost ones. Front ends must be asked for each read of such a file (FUSE:
  // FOPEN_DIRECT_IO). A read that fills a page of the kernel's cache is not to get fewer: the kernel would
  // take the end of a short answer for that of the file.
  virtual bool lacks_bytes() const { return false; }
  // The bytes are of one state of the file, whatever is written to it meanwhile; for `kernel_only` pieces
  // that holds only if `revalidate` succeeds after they were copied.
  virtual Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out,
                      RequestBudget& budget = OwnBudget()) = 0;
  // To be called after `kernel_only` pieces were copied. Fails with Stale if the file was written since
  // `read`, so that the pieces may be mixed. The kernel then drops its pages of the node, and every later
  // read fails.
  virtual Status revalidate() { return {}; }
  // The place where the bytes from `offset` on are stored, for those who read them there; `revalidate` is
  // then to succeed after they were read. Nothing where they are computed, or where the file grows.
  virtual std::optional<dataset::StoredRun> stored_run(std::uint64_t offset) const {
    (void)offset;
    return std::nullopt;
  }
  // Returns nullopt if bytes are computed, or may change while the file is open.
  virtual std::optional<FixedImage> fixed_image() const { return std::nullopt; }
  // The error NotFound stands for ENXIO.
  virtual Result<std::uint64_t> seek_data(std::uint64_t offset, RequestBudget& budget = OwnBudget()) = 0;
  virtual Result<std::uint64_t> seek_hole(std::uint64_t offset, RequestBudget& budget = OwnBudget()) = 0;
};

inline constexpr std::string_view kPlainBytes = "application/octet-stream";  // see Tree::media_type

class Tree {
 public:
  // If the files may be salvaged (FileSet::may_be_salvaged), a thread of the tree's own salvages them once,
  // when something first needs it: a listing, the names of attributes, the remark of salvage on an object, or
  // something damaged. Requests wait for it.
  static Result<std::shared_ptr<Tree>> make(const dataset::ReadEnvironment& environment,
                                            const TreeOptions& options);

  // A tree of a file that may be replaced under its name, or rewritten. Once nothing of the old file is
  // pinned (see `pin`), it becomes the tree of the new one: nodes other than the root are then unknown
  // (Stale), and everything that the kernel caches of them is invalidated. Until then, and while the new file
  // cannot be opened, it stays the old file's tree: a file that was renamed over or unlinked is still read as
  // it was; in a file that was written in place everything is Stale. `again` opens what the name leads to
  // now; it is called from the thread of `file_changed`. The files' metadata must be opened with
  // `keep_replaced`.
  struct Parts {
    dataset::ReadEnvironment environment;
    TreeOptions options;
  };
  using PartsOpener = std::function<Result<Parts>()>;
  static Result<std::shared_ptr<Tree>> make_reloading(const Parts& first, PartsOpener again);

  virtual ~Tree() = default;

  // Counters of what was done with the tree: those of its environment.
  const std::shared_ptr<Counters>& counters() const { return counters_; }

  // Held by every request until its reply was written, and by open files and directories. Null if the tree
  // cannot become another file's.
  virtual std::shared_ptr<void> pin() { return nullptr; }
  // Whether the tree may become another file's: then `file_changed` must also be called every second, as not
  // every file system supports inotify.
  virtual bool reloads() const { return false; }

  // Each request charges its budget (base/request_budget.h), to which the tree adds what the size of the file
  // allows. A request that passes none gets a budget of its own.

  // Counts one reference on success.
  virtual Result<Entry> lookup(NodeId parent, std::string_view name, RequestBudget& budget = OwnBudget()) = 0;
  virtual void forget(NodeId node, std::uint64_t count) = 0;
  virtual Result<NodeStat> stat(NodeId node, StatDepth depth, RequestBudget& budget = OwnBudget()) = 0;
  virtual Result<std::string> readlink(NodeId node) = 0;
  virtual Result<std::shared_ptr<const DirectoryListing>> open_directory(
      NodeId node, RequestBudget& budget = OwnBudget()) = 0;
  // False if what a node shows may change although no file changes: the log, and the directory of the files
  // that links have named.
  virtual bool lasts(NodeId node) = 0;
  // The entry at a position of a listing, looked up (which counts a reference), for readdirplus. The files it
  // was read from are added to `read`, which the caller confirms after its last entry.
  virtual Result<Entry> lookup_listed(NodeId parent, const DirectoryListing& listing, std::size_t position,
                                      FilesRead& read, RequestBudget& budget) = 0;
  virtual Result<std::shared_ptr<OpenNode>> open(NodeId node, RequestBudget& budget = OwnBudget()) = 0;

  // xattrs: names with their `user.` prefix, all of them: what the kernel lists is kernel_xattrs
  // (tree/xattr_list.h). A missing name is NotFound; a value over 64 KiB is TooLarge (E2BIG).
  virtual Result<std::vector<std::string>> list_xattrs(NodeId node, RequestBudget& budget = OwnBudget()) = 0;
  virtual Result<std::string> get_xattr(NodeId node, std::string_view name,
                                        RequestBudget& budget = OwnBudget()) = 0;

  // The files whose bytes a node shows, whatever its path; empty if it shows those of no file. Reads no
  // elements. Errors: those of reading where the elements lie.
  virtual Result<std::vector<NodeSource>> sources_of(NodeId node, RequestBudget& budget) = 0;
  // The media type of a file's bytes, as in HTTP. A dataset's own file has the type of plain bytes, whatever
  // its name ends in.
  virtual std::string_view media_type(NodeId node) = 0;

  // The files that were read are confirmed already.
  Result<Entry> lookup_listed(NodeId parent, const DirectoryListing& listing, std::size_t position);

  // The file that a node belongs to; nullopt if the node is between files. Fails if the file cannot be
  // opened.
  virtual Result<std::optional<FileOfNode>> file_of(NodeId node, RequestBudget& budget) = 0;
  // The root group of that file, from which a front end goes on by HDF5's own names (tree/file_object.h).
  virtual Result<std::shared_ptr<const FileObject>> root_object(NodeId node, RequestBudget& budget) = 0;
  // The object whose directory or file the node is; null if it is that of none: a view, a link, a directory
  // of files.
  virtual Result<std::shared_ptr<const FileObject>> object_of(NodeId node, RequestBudget& budget) = 0;

  // Counts and logs a failed request for the node, with the file's name and the object's path, once for each
  // cause. A front end calls it for every unexpected error that it answers.
  virtual void report(NodeId node, const Error& error) = 0;

  // ---- a file that changes

  // True while the node's file, or one that its elements may lie in, is followed: its size, attributes and
  // listing are valid for a moment only. Otherwise the kernel caches names, attributes, listings and pages
  // without a time limit; one file that grows leaves those of others cached.
  virtual bool follows(NodeId node) = 0;
  // A size is published only after the pages that it makes stale are dropped. To be set before the first
  // request.
  virtual void set_kernel(std::shared_ptr<KernelPages> kernel) = 0;
  // To be called when a file was written (inotify on the paths of `watchable`). Invalidates what became stale
  // of open files, and everything if the file begins to be followed or is stale.
  virtual void file_changed() = 0;
  virtual std::vector<std::string> watchable() const = 0;
  // Whether a watcher of these paths is told of every change to the sources, and can drop what was cached of
  // them. If not, a change is found by the requests that come to the tree.
  virtual bool notifies_changes() const { return false; }
  // The thread that opens further paths to watch then calls `notify`; null: no longer.
  virtual void when_more_to_watch(std::function<void()> notify) = 0;

  struct FileStat {
    std::uint64_t file_bytes = 0;
  };
  virtual FileStat statfs() const = 0;

 protected:
  explicit Tree(std::shared_ptr<Counters> counters = std::make_shared<Counters>())
      : counters_(std::move(counters)) {}

 private:
  const std::shared_ptr<Counters> counters_;
};

// Whether what a node shows stays the same as long as the file that it belongs to does. False if that is not
// known.
bool shows_own_file_alone(Tree& tree, NodeId node, RequestBudget& budget);

}  // namespace h5mount::tree
