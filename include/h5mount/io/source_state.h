// SourceState: which version of its bytes a source has, and how somebody learns of another one.
//
// A local file's version is its stamp, which an fstat tells: a reader asks before it uses the file, and once
// more after it has read. A source whose every read is checked (an answer of a server that names its version,
// memory) needs neither. Threads: all functions may be called from any thread at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// The functions of this class are those of bytes that never change.
class SourceState {
 public:
  virtual ~SourceState() = default;

  // True where a read returns bytes of the version that was opened, or fails with Stale. Then `stamp` asks
  // nobody: it tells what is known, and differs for good once a read was Stale. Constant.
  virtual bool checks_reads() const { return true; }

  // The current stamp (of a local file: fstat); updates ByteSource::size.
  virtual Result<SourceStamp> stamp() { return SourceStamp{}; }

  // Updates ByteSource::size (fstat).
  virtual Status refresh() { return {}; }

  // Whether the name by which the source was opened now belongs to another file (stat). False where no file
  // has the name.
  virtual bool name_taken() const { return false; }

  // Paths by which inotify can watch the underlying files, valid while the source lives.
  virtual std::vector<std::string> watchable() const { return {}; }
};

// The stamp, such that any later write changes it. Where the file was written within the current tick of the
// kernel's clock, a later write could leave the same times, so this waits for the end of the tick, at most
// 10 ms.
Result<SourceStamp> settled_stamp(SourceState& state);

}  // namespace h5mount::io
