// FileObject: an object of the file itself, found by its HDF5 path (the links' own names), for front ends
// that describe objects in their own terms. No nodes are made, so nothing has to be forgotten, and the kernel
// sees nothing of it. Links lead where the tree's symlinks lead, under the same policy.
//
// Immutable; threads: any. Errors: those of what is read. What was made from an object counts only if its
// file has not changed meanwhile: see `add_to`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"
#include "h5mount/tree/files_read.h"
#include "h5mount/tree/tree.h"
#include "h5mount/view/view.h"

namespace h5mount::tree {

class FileObject;
using FileObjectPtr = std::shared_ptr<const FileObject>;

// The links of a group, in the order of their creation if the group tracks that, else by name.
class LinkList {
 public:
  virtual ~LinkList() = default;
  virtual std::size_t size() const = 0;
  // The link at a position; if it is not a hard link, only its name and class: see FileObject::find_link.
  virtual format::Link at(std::size_t position) const = 0;
  // Why links may be missing; null if none is missing.
  virtual const Error* damage() const = 0;
};
using LinkListPtr = std::shared_ptr<const LinkList>;

// The elements of one dataset. They are opened when they are first asked for, once for each state of the
// dataset, for all who hold a copy of this; each call has the newest state.
using SharedElements = std::function<Result<view::ViewInput>(RequestBudget& budget)>;

class FileObject {
 public:
  virtual ~FileObject() = default;

  virtual const object::Object& object() const = 0;
  virtual const metadata::FileMetadataPtr& snapshot() const = 0;
  virtual bool is_of_main_file() const = 0;  // not behind an external link
  virtual NodeStat stat() const = 0;         // owner, mode and time
  virtual void add_to(FilesRead& read) const = 0;

  // A link of this group by its own name. Fails with NotFound, also if the object is not a group.
  virtual Result<format::Link> find_link(std::string_view name, RequestBudget& budget) const = 0;
  // All links of this group. Callers that list the same group at the same time share one list.
  virtual Result<LinkListPtr> links(RequestBudget& budget) const = 0;
  // The object that a link of this group leads to, through as many soft and external links as libhdf5
  // follows.
  virtual Result<FileObjectPtr> follow(const format::Link& link, RequestBudget& budget) const = 0;

  virtual const dataset::ReadEnvironment& environment() const = 0;
  // Stands for the opened file that the object is in: equal for all of its objects.
  virtual std::shared_ptr<const void> opened_file() const = 0;

  // For datasets: the newest state, and the elements.
  virtual Result<std::shared_ptr<const object::DatasetDescription>> description(
      RequestBudget& budget) const = 0;
  virtual SharedElements elements() const = 0;
  // Records a failed read as a mount does. `path`: the path by which the object was requested.
  virtual void note_failure(std::string_view path, std::uint64_t offset, const Error& error) const = 0;
  // Logs what is wrong with the object, although no read of it failed.
  virtual void report(std::string_view path, const Error& error) const = 0;

  // The context in which the values of the object's attributes are read.
  virtual text::ValueContext values(RequestBudget& budget) const = 0;
};

// The attributes of an object, sorted by the bytes of their names.
struct NamedAttributes {
  std::vector<object::Attribute> list;
  std::optional<Error> damage;            // why some may be missing
  cache::BlockCache::Charge charge = {};  // for the values
};
enum class WithValues : std::uint8_t { Yes, No };
Result<NamedAttributes> attributes_of(const FileObject& object, WithValues values, RequestBudget& budget);

// The last link of a path. A component of the path may be a link of any kind; `.` and empty components are
// ignored.
struct FoundPath {
  FileObjectPtr group;               // that has the last link; null for the root itself
  std::optional<format::Link> link;  // the last one
};
// Fails with NotFound if a component is missing, or does not lead to a group.
Result<FoundPath> find_last_link(const FileObjectPtr& root, std::string_view path, RequestBudget& budget);

}  // namespace h5mount::tree
