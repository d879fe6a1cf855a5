// One open HDF5 file's metadata: superblock, sizes, and reads of structures at addresses.
//
// Addresses are relative to the file's base address; errors and cursors speak in absolute file offsets.
// Threads: everything is safe from any thread. No lock is held while structures are read; of several threads
// that find the file changed, one reads its superblock while the others go on.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "h5mount/format/cursor.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::format {
struct Superblock;
}

namespace h5mount::metadata {

class SharedMessages;   // metadata/shared_messages.h
struct MetadataCaches;  // private to the module

// Bytes of a structure, owned, with their place in the file.
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

// What is done when the file changes while it is open.
enum class Follow : std::uint8_t {
  Never,  // a changed file is Stale for good
  Auto,   // it is followed while its status flags say that a SWMR writer has it (and when that one has ended)
  Always,  // it is followed whatever the flags say
};

struct MetadataOptions {
  bool force = false;  // open although the status flags say that a writer has it
  Follow follow = Follow::Never;
  // A file whose name another one took goes on being read: its own bytes stand as long as it is open.
  bool keep_replaced = false;
  // How often a file is looked at, at most, and for how long torn structures are read again.
  std::chrono::milliseconds revalidate_interval{50};
  std::chrono::milliseconds retry_for{500};
};

class FileMetadata {
 public:
  // `file`: the whole file (a family joined), user block included. Finds the superblock at 0, 512, 1024, …;
  // reads the superblock extension; applies a metadata cache image. A file that ends before the end its
  // superblock claims is opened: what lies beyond fails where it is read. So does a damaged extension, but
  // for the cache image, without which metadata would be read that is not the file's. Errors: BadSignature
  // where there is no superblock ("not an HDF5 file"), AccessDenied where the status flags say that it is
  // open for writing without SWMR, and what decoding finds.
  static Result<std::shared_ptr<const FileMetadata>> open(std::shared_ptr<io::ByteSource> file,
                                                          const MetadataOptions& options);
  virtual ~FileMetadata() = default;

  virtual const format::Superblock& superblock() const = 0;
  virtual format::FileSizes sizes() const = 0;
  virtual std::uint64_t base_address() const = 0;
  virtual std::uint64_t root_address() const = 0;  // of the root group's object header

  // Raw data and metadata by address (0 = base address). Raw data is read straight from here.
  virtual const std::shared_ptr<io::ByteSource>& addresses() const = 0;

  // `length` bytes at `address`, through the window cache (structures lie together: one read brings several).
  // Errors: OutOfRange for an undefined address or one beyond the end of file, Truncated, LimitExceeded, Io.
  // `structure` names what is asked for, in the error.
  virtual Result<MetadataBlock> read(std::uint64_t address, std::uint64_t length,
                                     std::string_view structure) const = 0;
  // As many bytes as there are up to `length` (at least one): for structures whose size is known only once
  // begun.
  virtual Result<MetadataBlock> read_up_to(std::uint64_t address, std::uint64_t length,
                                           std::string_view structure) const = 0;

  // Where messages of this file are shared (SOHM); nothing where the file has no such table.
  virtual const SharedMessages* shared_messages() const = 0;

  // Reads made so far from the source for metadata: for tests and for `-d`.
  virtual std::uint64_t source_reads() const = 0;

  // ---- a file that changes

  // Nobody watches in the background: who is about to use the file calls `look`, which is an fstat, and that
  // at most every revalidate_interval. Where the file has changed and is followed, the generation goes up and
  // all that this module keeps is dropped, so that what is loaded afterwards is what stands in the file now;
  // whatever was made of an older generation is to be made anew. Errors: Stale where it has changed and is
  // not followed, or another file has taken its name.
  virtual Status look() const { return {}; }
  // The same at once, whenever the last look was.
  virtual Status revalidate_now() const { return {}; }
  // For whoever has read from the file and is about to pass it on: an fstat, unless the file is followed.
  // Success says that all that was read before the call is of the state in which the file was opened:
  // write(2) moves a file's times before it changes bytes. Not seen are writes within the clock tick in which
  // the file was opened (open waits for its end), and writes through a shared mapping until the kernel notes
  // them. Errors: Stale.
  virtual Status revalidate() const { return {}; }
  virtual std::uint64_t generation() const { return 0; }
  virtual bool following() const { return false; }
  // Drops what this module keeps. A structure that refers to others and was written after them (an object
  // header, after the index of its chunks) is followed by a call of it: what is loaded then is no older than
  // the structure.
  virtual void forget() const {}
  // The same with a new generation: what was read does not fit together.
  virtual void look_again() const {}
  // Whether somebody wrote in the last seconds, so that a structure may be torn.
  virtual bool changed_lately() const { return false; }
  virtual std::chrono::milliseconds retry_for() const { return {}; }

  // Decoded structures that the functions of this room keep for one another; null: they keep none.
  virtual MetadataCaches* caches() const { return nullptr; }
};

using FileMetadataPtr = std::shared_ptr<const FileMetadata>;

}  // namespace h5mount::metadata
