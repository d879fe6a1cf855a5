// Node: one file, directory or symlink of the tree. A kind of node is one class in one file; a view under
// /.h5 is a few of them.
//
// Nodes are immutable except for their caches; threads: any. `child` makes a new node each time: the node
// table keeps the first one with a key and drops the others.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "h5mount/tree/tree.h"

namespace h5mount::tree {

class ServedFile;

// The identity of a node: two lookups with one key are one node to the kernel.
struct NodeKey {
  enum class Kind : std::uint8_t {
    Object,
    Link,
    Mirror,
    AttributeText,
    Sparse,
    ViewFile,
    ViewDirectory,
    VirtualDirectory
  };
  const void* file = nullptr;  // its ServedFile (kept alive by the node)
  Kind kind = Kind::Object;
  std::uint64_t address = 0;  // of the object, or of the group that contains the link
  std::string name;           // of the link, attribute or virtual directory; empty for objects
  bool operator==(const NodeKey&) const = default;
};

std::size_t hash_of(const NodeKey& key);

// The subject of a message about a node. `file`: null for the mounted one.
struct Subject {
  ServedFile* file = nullptr;
  std::string path;  // in the file, or of a view of it: "/a/b", "/.h5/log"
};

inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";  // see Node::media_type

// Sets the size of a file that is computed on demand, without holes. It gets blocks for all its bytes:
// SEEK_DATA finds them, and `tar --sparse` takes a file without blocks for one hole.
void set_size(NodeStat& stat, std::uint64_t bytes);

// The same for a file whose bytes cannot be read and whose size is not known: one byte. Programs that take a
// file of zero bytes as empty without opening it (tar, git) then open it, and get the error.
void set_unreadable_size(NodeStat& stat);

// For requests that answer with what they found so far: fails if nobody waits for the answer, or if it is too
// late.
inline Status ended_early(RequestBudget& budget) {
  Status goes_on = budget.check();
  if (goes_on || goes_on.error().code() == ErrorCode::BudgetExceeded) return {};
  return goes_on;
}

// Whether what failed with this error may succeed the next time: something is missing for a moment, or an
// object of a server is refused, or gone, and may be there again.
inline bool may_succeed_later(const Error& why) {
  const bool denied = why.code() == ErrorCode::AccessDenied && why.verdict() == 0;
  return is_momentary(why) || denied || why.code() == ErrorCode::Stale;
}

using FollowedFilePtr = std::shared_ptr<metadata::FollowedFile>;

class Node;
using NodePtr = std::shared_ptr<Node>;

class Node : public std::enable_shared_from_this<Node> {
 public:
  explicit Node(NodeKey key) : key_(std::move(key)) {}
  virtual ~Node() = default;

  const NodeKey& key() const { return key_; }
  ServedFile* file_of_key() const;  // null: of no file

  // Set when the node table takes the node; 0 before.
  NodeId id() const { return id_.load(std::memory_order_relaxed); }
  void set_id(NodeId id) { id_.store(id, std::memory_order_relaxed); }

  // For messages.
  virtual Subject subject() const;

  // The file was written while the node was open: see Tree::file_changed.
  virtual void catch_up() {}

  // The file that the node's answers are read from, which must be confirmed unchanged after an answer was
  // made; null if there is none: for nodes of their own under /.h5, and for links.
  const FollowedFilePtr& read_from() const;

  // See the functions of Tree. The defaults: the sources are the structure of the node's file, and the node
  // is followed if that file is.
  virtual bool follows() const;
  virtual bool lasts() const { return true; }
  virtual Result<std::vector<NodeSource>> sources(RequestBudget& budget);
  virtual std::string_view media_type() const { return kPlainBytes; }

  virtual Result<NodeStat> stat(StatDepth depth, RequestBudget& budget) = 0;

  // Directories. Fails with NotFound if no such name is listed.
  virtual Result<NodePtr> child(std::string_view shown, RequestBudget& budget);
  virtual Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget);
  virtual Result<NodePtr> listed_child(const DirectoryListing& listing, std::size_t position,
                                       RequestBudget& budget);

  // Symlinks.
  virtual Result<std::string> readlink();

  // Files.
  virtual Result<std::shared_ptr<OpenNode>> open(RequestBudget& budget);

  // Names begin with `user.`; there are none by default.
  virtual Result<std::vector<std::string>> list_xattrs(RequestBudget& budget);
  virtual Result<std::string> get_xattr(std::string_view name, RequestBudget& budget);

  // See SourceTree::damage.
  virtual std::optional<Error> damage(RequestBudget&) { return std::nullopt; }

 private:
  NodeKey key_;
  std::atomic<NodeId> id_ = 0;
};

}  // namespace h5mount::tree
