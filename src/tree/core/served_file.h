// ServedFile: one HDF5 file for the nodes of this module: its objects, of which recently opened ones are
// cached; the paths of its groups; the path of an object that a value refers to. The mounted file has one,
// and so has every file that an external link leads to, as long as a node of it is known.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>

#include "byte_budget.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/metadata/torn_retry.h"
#include "h5mount/text/value_text.h"
#include "h5mount/tree/tree.h"
#include "object_cache.h"
#include "object_paths.h"
#include "read_failures.h"

namespace h5mount::tree {

// The state that all files of a mount share.
class ExternalFiles;
class OpenNodes;
class ServedFile;
struct MountContext {
  dataset::ReadEnvironment environment;
  TreeOptions options;
  std::uint64_t ino_seed = 0;  // distinguishes the inode numbers of this mounted file from those of others
  std::shared_ptr<ExternalFiles> external;
  std::shared_ptr<OpenNodes> open_nodes;
  // user.hdf5.references of the root, which the folder `zarr` answers: `text` is null if there are none.
  // Listings name it once references were opened, as it takes a walk of all chunk indexes.
  struct ReferencesXattr {
    Result<std::string> (*text)(const std::shared_ptr<ServedFile>& file, RequestBudget& budget) = nullptr;
    std::atomic<bool> listed = false;
  };
  std::shared_ptr<ReferencesXattr> references = std::make_shared<ReferencesXattr>();
  std::shared_ptr<ByteBudget> open_texts = std::make_shared<ByteBudget>(limits::kMaxOpenTextBytes);

  const object::OpenedFilePtr& mounted_file() const { return environment.files->main(); }
};
using MountContextPtr = std::shared_ptr<const MountContext>;

// The link by which an object was first reached: in the group at `group`; undefined for a file's root.
struct LinkPlace {
  std::uint64_t group = format::kUndefinedAddress;
  std::string name;
};

class ServedFile : public std::enable_shared_from_this<ServedFile> {
 public:
  // `depth`: directories between the mount point and the file's root (0 for the mounted file). `ino_seed`
  // distinguishes its inode numbers from those of other files.
  ServedFile(MountContextPtr context, object::OpenedFilePtr file, unsigned depth, std::uint64_t ino_seed);

  const MountContext& context() const { return *context_; }
  const MountContextPtr& shared_context() const { return context_; }
  const object::OpenedFilePtr& file() const { return file_; }
  metadata::FollowedFile& followed() const { return *file_->followed; }
  // The newest snapshot. What belongs to an object is read through the object's own.
  metadata::FileMetadataPtr metadata() const { return file_->snapshot(); }
  unsigned depth() const { return depth_; }
  std::uint64_t root_address() const { return root_address_; }
  std::uint64_t ino_of(std::uint64_t address) const;
  // The file's structure as a source; a dataset in it may have further sources.
  NodeSource as_source() const;

  // The object in the newest snapshot. The caller confirms the file unchanged before it answers
  // (Node::read_from).
  Result<OpenedObjectPtr> object(std::uint64_t address, RequestBudget& budget);

  // The cache of its objects, which is charged when something was made from one on demand.
  ObjectCache& objects() { return objects_; }
  std::shared_ptr<const ObjectPaths> object_paths();

  // The one object of type `Kept` that a folder above this one keeps for the file, made at its first use.
  template <class Kept>
  Kept& kept() {
    return *static_cast<Kept*>(
        kept(typeid(Kept), []() -> std::shared_ptr<void> { return std::make_shared<Kept>(); }));
  }

  // For a group whose header counts one link: nullopt if `name` of `parent` is the first link to it that was
  // looked up, else the path of that first link. So a wrong link count cannot cause a loop.
  std::optional<std::vector<std::string>> other_place(std::uint64_t address, std::uint64_t parent,
                                                      std::string_view name);

  // The path of the object that a value refers to, in a joined file with that of the object's file before it;
  // nullopt if none leads to it. It may walk the file, once.
  std::optional<std::string> path_of_reference(std::uint64_t address);
  // For values that are read through this snapshot. `budget`: that of the request, or null.
  text::ValueEnvironment value_environment(metadata::FileMetadataPtr snapshot);
  text::ValueContext value_context(metadata::FileMetadataPtr snapshot, RequestBudget& budget) {
    return {value_environment(std::move(snapshot)), budget};
  }
  text::ValueContext value_context(RequestBudget& budget) { return value_context(metadata(), budget); }

  // The path of the object that a link leads to, as far as it is known without a walk: for messages.
  std::string path_of(const LinkPlace& place);
  // The same for an object of which only the address is known. It may walk the file, once.
  std::string path_of_object(std::uint64_t address);

  // Logs an error of the object with that path, once for each snapshot.
  void report(std::string_view path, const Error& error) const;
  ReadFailures& failures() { return failures_; }

 private:
  struct Place {
    std::uint64_t parent = 0;
    std::string name;
  };
  std::vector<std::string> names_of_place(std::uint64_t address) const H5_REQUIRES(places_mutex_);
  std::string path_of_group(std::uint64_t address);
  void* kept(std::type_index type, std::shared_ptr<void> (*make)());

  MountContextPtr context_;
  object::OpenedFilePtr file_;
  unsigned depth_;
  std::uint64_t ino_seed_;
  const std::uint64_t root_address_;
  ObjectCache objects_;
  OnceValue<std::shared_ptr<const ObjectPaths>> paths_;
  Mutex places_mutex_;
  std::unordered_map<std::uint64_t, Place> first_places_ H5_GUARDED_BY(places_mutex_);
  Mutex kept_mutex_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> kept_ H5_GUARDED_BY(kept_mutex_);
  ReadFailures failures_;
};
using ServedFilePtr = std::shared_ptr<ServedFile>;

}  // namespace h5mount::tree
