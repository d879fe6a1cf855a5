// ByteSource: random-access reading of bytes, from a file, memory, a range of another source, or a set of
// files. Short reads and EINTR are handled here.
//
// Threads: all functions may be called from any thread at once. Ownership: sources are shared; a sub-range
// keeps its parent alive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"

namespace h5mount::io {

// The state of a file that a change of it alters. A writer cannot reset a file's ctime, so two equal stamps
// mean that nothing was written between them, within the limits of the file system: writes through a mapping
// become visible only when the kernel updates the times, and two writes within one tick of its clock look
// like one.
struct SourceStamp {
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970, of the newest member
  // Sum over all members of a hash of identity and mtime: shows changes of members that are not the newest.
  std::uint64_t sum = 0;
  std::uint64_t changed = 0;  // sum of all members' ctimes, nanoseconds since 1970
  // Digest of what changes a ctime and leaves the bytes: mode, owner, links, names, extended attributes.
  std::uint64_t attributes = 0;
  bool replaced = false;  // the name now belongs to another file; reads still return the opened one
  bool operator==(const SourceStamp&) const = default;
};

// Whether the bytes are the same at both stamps. A ctime that changed alone may come from chmod, chown, ln,
// mv or setfattr, which alter `attributes`. Where `attributes` is unchanged too, the file was written and its
// mtime reset.
inline bool same_bytes(const SourceStamp& before, const SourceStamp& now) {
  return before.size == now.size && before.modified == now.modified && before.sum == now.sum &&
         (before.changed == now.changed || before.attributes != now.attributes);
}

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills all of `out` with the bytes from `offset`. Errors: Truncated where the source ends earlier, Io,
  // Stale.
  virtual Status read_at(std::uint64_t offset, MutableByteSpan out) const = 0;

  // Bytes, as of the last `refresh` or `stamp`.
  virtual std::uint64_t size() const = 0;

  // Bytes of the underlying files: `size` where there is one file, the sum of its members for a set of files.
  virtual std::uint64_t stored_bytes() const { return size(); }

  // Updates the size (fstat).
  virtual Status refresh() { return {}; }

  // The current stamp (fstat); updates `size`. The stamp of a source that cannot change is constant.
  virtual Result<SourceStamp> stamp() { return SourceStamp{.size = size()}; }

  // Whether the name by which it was opened now belongs to another file (stat). False where no file has the
  // name.
  virtual bool name_taken() const { return false; }

  // Paths by which inotify can watch the underlying files, valid while the source lives.
  virtual std::vector<std::string> watchable() const { return {}; }

  // The same bytes as memory that the *kernel* may read (writev to /dev/fuse), or an empty span where there
  // is no mapping. Never dereference it: where the file was truncated, access is SIGBUS in this process but
  // only EFAULT for writev. Valid as long as the source lives.
  virtual ByteSpan mapped(std::uint64_t offset, std::uint64_t length) const {
    (void)offset, (void)length;
    return {};
  }

  // Holes of the underlying file are not exposed: the mount shows allocation as HDF5 records it.

  // For messages: the path, or a description.
  virtual std::string name() const = 0;
};

using SourcePtr = std::shared_ptr<const ByteSource>;

// The source's stamp, such that any later write changes it. Where the file was written within the current
// tick of the kernel's clock, a later write could leave the same times, so this waits for the end of the
// tick, at most 10 ms.
Result<SourceStamp> settled_stamp(ByteSource& source);

// A regular file (anything else is AccessDenied), opened read-only. `path` is kept for messages.
Result<std::shared_ptr<ByteSource>> open_file_source(const std::string& path);
// Opens the same file again and returns a new descriptor.
using ReopenFile = std::function<Result<int>()>;
// Takes ownership of an open descriptor. With `reopen` it may be closed between reads and is reopened on
// demand (io/descriptors.h); reads are Stale where `reopen` then opens another file.
Result<std::shared_ptr<ByteSource>> make_file_source(int fd, std::string name, ReopenFile reopen = {});
// Stands for a file that may not be opened: every read of its `size` bytes fails with `why`.
std::shared_ptr<ByteSource> make_refused_source(Error why, std::uint64_t size, std::string name);
std::shared_ptr<ByteSource> make_memory_source(std::vector<std::byte> bytes, std::string name = "memory");
// [offset, offset + length) of `parent`, which it keeps alive. Without `length` it extends to the parent's
// end and grows with it.
std::shared_ptr<ByteSource> make_sub_range_source(std::shared_ptr<ByteSource> parent, std::uint64_t offset,
                                                  std::optional<std::uint64_t> length = {});
// One address space over several members: in sequence (family) or each at its own start (multi, split); see
// drivers.h.
struct SourceExtent {
  std::uint64_t start;   // address of the member's first byte
  std::uint64_t length;  // bytes of address space it covers; reads beyond the member's own end are Truncated
  std::shared_ptr<ByteSource> source;
};
std::shared_ptr<ByteSource> make_extent_source(std::vector<SourceExtent> extents, std::string name);

}  // namespace h5mount::io
