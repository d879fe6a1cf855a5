// ByteSource: where bytes come from, whatever lies behind: a file, memory, a part of another source, a set of
// files. Short reads and EINTR end here.
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

// By what a change of a file shows. A writer cannot put a file's ctime back, so two equal stamps mean that
// nobody wrote between them, as far as the file system tells: writes through a mapping show only when the
// kernel notes them, and two writes within one tick of its clock show as one.
struct SourceStamp {
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970, of the newest member
  std::uint64_t sum = 0;  // of all members' identities and mtimes, so that no change hides behind a newer one
  std::uint64_t changed = 0;  // sum of all members' ctimes
  std::uint64_t attributes =
      0;  // digest of what changes a ctime and leaves the bytes: mode, owner, links, names, xattrs
  bool replaced = false;  // the name stands for another file now; the bytes are still the old one's
  bool operator==(const SourceStamp&) const = default;
};

// Whether the bytes are the same at both stamps. A ctime alone that moved may be chmod, chown, ln, mv or
// setfattr, which show in `attributes`; where nothing explains it, the file was written and its mtime put
// back.
inline bool same_bytes(const SourceStamp& before, const SourceStamp& now) {
  return before.size == now.size && before.modified == now.modified && before.sum == now.sum &&
         (before.changed == now.changed || before.attributes != now.attributes);
}

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `out` from `offset`, whole or not at all. Errors: Truncated where the source ends before, Io.
  virtual Status read_at(std::uint64_t offset, MutableByteSpan out) const = 0;

  // Bytes, as last seen; a file that grows is seen by `refresh`.
  virtual std::uint64_t size() const = 0;

  // Bytes that the files behind it hold: `size` where there is one file, the sum of its members for a set of
  // files.
  virtual std::uint64_t stored_bytes() const { return size(); }

  // Looks at the size again (fstat). Cheap.
  virtual Status refresh() { return {}; }

  // Size, times and name as they are now (fstat); `size` is then what it saw. The stamp of a source that
  // cannot change stays the same.
  virtual Result<SourceStamp> stamp() { return SourceStamp{.size = size()}; }

  // Whether a name by which it was opened leads to another file now, asked of the file system; false where
  // nothing has the name.
  virtual bool name_taken() const { return false; }

  // Paths by which inotify can watch what lies behind, valid while the source lives.
  virtual std::vector<std::string> watchable() const { return {}; }

  // The same bytes as memory that the *kernel* may read (writev to /dev/fuse), or an empty span where there
  // are none. Never dereference it: a file cut short behind it is SIGBUS for us but only EFAULT for writev.
  // Valid as long as the source lives.
  virtual ByteSpan mapped(std::uint64_t offset, std::uint64_t length) const {
    (void)offset, (void)length;
    return {};
  }

  // The next byte at or after `offset` where a hole (data) of the underlying file begins is not asked here:
  // HDF5's own idea of allocation is what the mount shows.

  // For messages: the path, or words.
  virtual std::string name() const = 0;
};

using SourcePtr = std::shared_ptr<const ByteSource>;

// The source's stamp, taken where no write after it can leave the same times behind: a file that was written
// within this tick of the kernel's clock is waited for until the tick is over, at most 10 ms.
Result<SourceStamp> settled_stamp(ByteSource& source);

// A regular file (anything else is AccessDenied), opened read-only. `path` is kept for messages.
Result<std::shared_ptr<ByteSource>> open_file_source(const std::string& path);
// Opens the same file once more: a new descriptor.
using ReopenFile = std::function<Result<int>()>;
// Takes over an open descriptor (closed with the source). With `reopen` it may be closed while nobody reads,
// and is opened again on demand (io/descriptors.h); where `reopen` then leads to another file, reads are
// Stale.
Result<std::shared_ptr<ByteSource>> make_file_source(int fd, std::string name, ReopenFile reopen = {});
// Bytes that may not be read: every read of the `size` bytes fails with `why`.
std::shared_ptr<ByteSource> make_refused_source(Error why, std::uint64_t size, std::string name);
std::shared_ptr<ByteSource> make_memory_source(std::vector<std::byte> bytes, std::string name = "memory");
// [offset, offset + length) of `parent`; length nothing: to the parent's end, growing with it.
std::shared_ptr<ByteSource> make_sub_range_source(std::shared_ptr<ByteSource> parent, std::uint64_t offset,
                                                  std::optional<std::uint64_t> length = {});
// Members laid at addresses one after another (family), or each at its own start (multi, split); see
// drivers.h.
struct SourceExtent {
  std::uint64_t start;   // address of the member's first byte
  std::uint64_t length;  // bytes of address space it covers; reads beyond the member's own end are Truncated
  std::shared_ptr<ByteSource> source;
};
std::shared_ptr<ByteSource> make_extent_source(std::vector<SourceExtent> extents, std::string name);

}  // namespace h5mount::io
