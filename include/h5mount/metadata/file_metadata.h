// FileMetadata: one snapshot of an open HDF5 file: superblock, sizes, and reads of structures at addresses.
//
// A snapshot is immutable. A file that nobody writes has one snapshot for ever; of a followed file
// metadata/followed_file.h takes the next one after a change. Structures are cached by the snapshot that they
// were read for, so what is read through a snapshot is never older than the snapshot. It may be newer: a
// writer continues meanwhile, and a half-written structure fails its checksum (metadata/torn_retry.h).
//
// Addresses are relative to the file's base address; errors and cursors use absolute file offsets. Threads:
// everything is safe from any thread. No lock is held while structures are read.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "h5mount/base/shared_cache.h"
#include "h5mount/format/cursor.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::format {
struct Superblock;
}

namespace h5mount::metadata {

class SharedMessages;   // metadata/shared_messages.h
class ForeignHeaps;     // metadata/foreign_heaps.h
struct MetadataCaches;  // private to the module

// The bytes of a structure, owned, with their position in the file.
class MetadataBlock {
 public:
  MetadataBlock(std::vector<std::byte> bytes, std::uint64_t file_offset, format::FileSizes sizes)
      : bytes_(std::move(bytes)), file_offset_(file_offset), sizes_(sizes) {}
  ByteSpan bytes() const { return bytes_; }
  std::uint64_t file_offset() const { return file_offset_; }
  format::Cursor cursor(std::string_view structure) const {
    return {bytes_, file_offset_, structure, sizes_};
  }

 private:
  std::vector<std::byte> bytes_;
  std::uint64_t file_offset_;
  format::FileSizes sizes_;
};

// The neighbours of a structure in a file whose space is paged (file space info message): libhdf5 puts global
// heaps into pages of data, everything else into pages of structures.
enum class Among : std::uint8_t { Structures, Data };

// The consequence of a change of the file while it is open.
enum class Follow : std::uint8_t {
  Never,   // a changed file is Stale for good
  Auto,    // followed from when its status flags name a SWMR writer, and after that writer has closed it
  Always,  // followed whatever the flags say
};

struct MetadataOptions {
  bool force = false;  // open although the status flags name a writer
  Follow follow = Follow::Never;
  // If true, a file whose name was taken by another one is still read: its bytes remain as long as it is
  // open.
  bool keep_replaced = false;
  // `revalidate_interval`: the least time between two checks for a change. `retry_for`: how long torn
  // structures are read again.
  std::chrono::milliseconds revalidate_interval{50};
  std::chrono::milliseconds retry_for{500};
  // Bounds everything that is kept decoded, shared with other files; null: the file has a bound of its own.
  std::shared_ptr<SharedCache> memory = nullptr;
};

class FileMetadata {
 public:
  // The first snapshot of a file that is not checked for changes (FollowedFile::open checks).
  //
  // `file`: the whole file (a family joined), user block included. Finds the superblock at 0, 512, 1024, …;
  // reads the superblock extension; applies a metadata cache image. A file that ends before the end that its
  // superblock states is opened; reads beyond the end fail. A damaged extension does not prevent opening
  // either, unless it names a cache image: without the image, metadata would be read that is no longer valid.
  // Errors: BadSignature if there is no superblock ("not an HDF5 file"), AccessDenied if the status flags say
  // that the file is open for writing without SWMR, and those of decoding.
  static Result<std::shared_ptr<const FileMetadata>> open(std::shared_ptr<io::ByteSource> file,
                                                          const MetadataOptions& options);
  virtual ~FileMetadata() = default;

  virtual const format::Superblock& superblock() const = 0;
  virtual format::FileSizes sizes() const = 0;
  virtual std::uint64_t base_address() const = 0;
  virtual std::uint64_t root_address() const = 0;  // address of the root group's object header

  // The file's bytes by address (0 = base address). Raw data is read directly from here.
  virtual const std::shared_ptr<io::ByteSource>& source() const = 0;
  // Whether it is worth finding out what will be read (ByteSource::far).
  virtual bool far() const { return source()->far(); }

  // Reads `length` bytes at `address`, through the window cache (structures lie together: one read brings
  // several). Errors: OutOfRange for an undefined address or one beyond the end of file, Truncated,
  // LimitExceeded, Io. `structure` is the structure's name in the error; `among` says in which pages it lies.
  virtual Result<MetadataBlock> read(std::uint64_t address, std::uint64_t length, std::string_view structure,
                                     Among among = Among::Structures) const = 0;
  // Reads as many bytes as there are, at least one and at most `length`: for structures whose size is stored
  // in their first bytes.
  virtual Result<MetadataBlock> read_up_to(std::uint64_t address, std::uint64_t length,
                                           std::string_view structure,
                                           Among among = Among::Structures) const = 0;

  // The table of shared messages (SOHM); null if the file has none.
  virtual const SharedMessages* shared_messages() const = 0;

  // The heaps of other files that elements shown by this one refer to; the same for all snapshots, null if
  // there can be none.
  virtual std::shared_ptr<ForeignHeaps> foreign_heaps() const { return nullptr; }

  // Snapshots of all files are numbered in the order in which they were taken.
  virtual std::uint64_t number() const { return 0; }
  // Whether the file was followed when the snapshot was taken: a writer may change it during reads.
  virtual bool following() const { return false; }
  // The same snapshot with empty caches: what is read through the result is not older than this call. It is
  // for structures that are written before the one that refers to them: a writer flushes the chunk index
  // before the object header with the extent, so the index is read through `reread` after that header. Null
  // if the file is not followed: then nothing was written meanwhile.
  virtual std::shared_ptr<const FileMetadata> reread() const { return nullptr; }

  // ---- for a check that accounts for every byte of a file (check/accounting_metadata.h); others ignore it

  // Called by the decoder of the structure at `address`: the structure covers `bytes` bytes, if that differs
  // from what was read of it (a node that is not full, a header whose size is stored in it). Ranges beyond
  // the address space, such as an undefined address, are ignored.
  virtual void covers(std::uint64_t /*address*/, std::uint64_t /*bytes*/) const {}
  // Called for a structure that the decoded one refers to and that only a check reads, or that others read
  // only now and then.
  enum class Referred : std::uint8_t { HugeObjects, FilteredHugeObjects, FreeSpaceManager };
  virtual void refers_to(Referred /*structure*/, std::uint64_t /*address*/) const {}

  // The caches of decoded structures, shared by the functions of this module, by `number`; null if there are
  // none.
  virtual MetadataCaches* caches() const { return nullptr; }
};

using FileMetadataPtr = std::shared_ptr<const FileMetadata>;

}  // namespace h5mount::metadata
