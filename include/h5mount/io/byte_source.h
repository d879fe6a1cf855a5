// ByteSource: random-access reading of bytes, from a file, memory, a range of another source, or a set of
// files. Short reads and EINTR are handled here. The source's SourceState tells which version of the bytes it
// has, and how a change is noticed.
//
// Threads: all functions may be called from any thread at once. Ownership: sources are shared; a sub-range
// keeps its parent alive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"
#include "h5mount/io/source_state.h"

namespace h5mount::io {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills all of `out` with the bytes from `offset` on. Fails with Truncated if the source ends earlier, with
  // Io, and with Stale if the bytes of the version that was opened are no longer available.
  virtual Status read_at(std::uint64_t offset, MutableByteSpan out) const = 0;

  // Fills the first of `out` with what is in memory of the bytes from `offset`, without waiting for a device
  // or a network. Returns how many these are: 0 also where that cannot be known.
  virtual Result<std::size_t> read_cached(std::uint64_t offset, MutableByteSpan out) const {
    (void)offset, (void)out;
    return std::size_t{0};
  }

  // The size in bytes, as of the last call of the state's `refresh` or `stamp`.
  virtual std::uint64_t size() const = 0;

  // Bytes of the underlying files: `size` if there is one file, the sum over the members for a set of files.
  virtual std::uint64_t stored_bytes() const { return size(); }

  // Tells which ranges will be read soon and are wanted together: a far source begins to fetch them all at
  // once, neighbours in one request, and a `read_at` joins a fetch that is under way. Other sources do
  // nothing. The function never waits and never fails; ranges beyond the end are cut.
  virtual void will_read(std::span<const ByteRange> ranges) const { (void)ranges; }

  // Whether a read may cost a round trip through a network. Only then is it worth finding out what will be
  // read. Constant.
  virtual bool far() const { return false; }

  // The size, in bytes, of the aligned blocks in which structures that lie together are best read. Constant.
  virtual std::size_t block_bytes() const { return 16U << 10; }

  // Which version of its bytes the source has. The default is that of bytes that never change.
  virtual SourceState& state();

  // The same bytes as memory that the *kernel* may read (writev to /dev/fuse), or an empty span if there is
  // no mapping. Never dereference it: if the file was truncated, access is SIGBUS in this process but only
  // EFAULT for writev. Valid as long as the source lives.
  virtual ByteSpan mapped(std::uint64_t offset, std::uint64_t length) const {
    (void)offset, (void)length;
    return {};
  }

  // The one file that holds the bytes [offset, offset + length) as they are, and the offset in it: for those
  // who tell others where bytes lie. nullopt: several files do, or none. The file lives as long as the
  // source.
  struct Place {
    const ByteSource* file;
    std::uint64_t offset;
  };
  virtual std::optional<Place> place_of(std::uint64_t offset, std::uint64_t length) const;

  // Holes of the underlying file are not exposed: the mount shows allocation as HDF5 records it.

  // For messages: the path, or a description.
  virtual std::string name() const = 0;
};

using SourcePtr = std::shared_ptr<const ByteSource>;

// A regular file (anything else is AccessDenied), opened read-only. `path` is kept for messages.
Result<std::shared_ptr<ByteSource>> open_file_source(const std::string& path);
// Opens the same file again and returns a new descriptor.
using ReopenFile = std::function<Result<int>()>;
// Takes ownership of an open descriptor. With `reopen` the descriptor may be closed between reads and is
// reopened on demand (io/descriptors.h); reads fail with Stale if `reopen` then opens another file.
Result<std::shared_ptr<ByteSource>> make_file_source(int fd, std::string name, ReopenFile reopen = {});
// Stands for a file that may not be opened: every read of its `size` bytes fails with `why`.
std::shared_ptr<ByteSource> make_refused_source(Error why, std::uint64_t size, std::string name);
std::shared_ptr<ByteSource> make_memory_source(std::vector<std::byte> bytes, std::string name = "memory");
// [offset, offset + length) of `parent`, which it keeps alive. Without `length` it extends to the parent's
// end and grows with it.
std::shared_ptr<ByteSource> make_sub_range_source(std::shared_ptr<ByteSource> parent, std::uint64_t offset,
                                                  std::optional<std::uint64_t> length = {});
// A single address space over several members: in sequence (family), or each at its own start (multi, split);
// see drivers.h.
struct SourceExtent {
  std::uint64_t start;   // address of the member's first byte
  std::uint64_t length;  // bytes of address space it covers; reads beyond the member's own end are Truncated
  std::shared_ptr<ByteSource> source;
};
std::shared_ptr<ByteSource> make_extent_source(std::vector<SourceExtent> extents, std::string name);

}  // namespace h5mount::io
