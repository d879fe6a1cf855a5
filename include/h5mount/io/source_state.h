// SourceState: which version of its bytes a source has, and how to find out that there is another one.
//
// A local file's version is its stamp, which fstat returns: a reader asks for it before it uses the file, and
// once more after it has read. A source that checks every read (a server whose answers name their version,
// memory) needs neither. Threads: all functions may be called from any thread at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::io {

// The state of a file, which every change to the file alters. A writer cannot reset a file's ctime, so two
// equal stamps mean that nothing was written between them, within the limits of the file system: writes
// through a mapping become visible only when the kernel updates the times, and two writes within one tick of
// its clock look like one.
struct SourceStamp {
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970, of the newest member
  // Sum over all members of a hash of identity and mtime: shows changes of members that are not the newest.
  std::uint64_t sum = 0;
  std::uint64_t changed = 0;  // sum of all members' ctimes, nanoseconds since 1970
  // Digest of the things that change a ctime but not the bytes: mode, owner, links, names, extended
  // attributes.
  std::uint64_t attributes = 0;
  bool replaced = false;  // the name now belongs to another file; reads still return the opened one
  bool operator==(const SourceStamp&) const = default;
};

// Whether the bytes are the same at both stamps. If only the ctime changed, that may be due to chmod, chown,
// ln, mv or setfattr, which alter `attributes`. If `attributes` did not change either, the file was written
// and its mtime reset.
inline bool same_bytes(const SourceStamp& before, const SourceStamp& now) {
  return before.size == now.size && before.modified == now.modified && before.sum == now.sum &&
         (before.changed == now.changed || before.attributes != now.attributes);
}

// The default implementations are those for bytes that never change.
class SourceState {
 public:
  virtual ~SourceState() = default;

  // True if a read either returns bytes of the version that was opened or fails with Stale. `stamp` then
  // makes no request: it returns what is known, and differs for good once a read was Stale. Constant.
  virtual bool checks_reads() const { return true; }

  // The current stamp (for a local file by fstat); updates ByteSource::size.
  virtual Result<SourceStamp> stamp() { return SourceStamp{}; }

  // Updates ByteSource::size (fstat).
  virtual Status refresh() { return {}; }

  // Whether the name by which the source was opened now belongs to another file (stat). False if no file has
  // the name.
  virtual bool name_taken() const { return false; }

  // The entity tag that a server states for these bytes (RFC 9110, 8.8.3); empty if there is none.
  virtual std::string entity_tag() const { return {}; }

  // Paths by which inotify can watch the underlying files, valid while the source lives.
  virtual std::vector<std::string> watchable() const { return {}; }
};

// The stamp, taken so that any later write changes it. If the file was written within the current tick of the
// kernel's clock, a later write could leave the same times, so this waits for the end of the tick, at most 10
// ms.
Result<SourceStamp> settled_stamp(SourceState& state);

}  // namespace h5mount::io
