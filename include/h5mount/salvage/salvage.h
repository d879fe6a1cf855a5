// Salvage: what can still be known of a damaged HDF5 file, as a source that the ordinary readers open.
//
// `salvage_source` reads the file as far as it can be followed, sweeps the bytes that no reachable structure
// accounts for, and returns the file's bytes with a few laid over them: a superblock if there is none, object
// headers that lead to rebuilt lists of links and chunks, and a group `lost+found` of the objects that
// nothing links to. Structures that are made lie behind the file's own addresses; the file itself is never
// written. So every reader, view and command works on a salvaged file as on any other, with its usual checks:
// structures that are made here are trusted no more than those that a stranger wrote.
//
// Bytes that are not known read as an error, or as the fill value if `fill` is set. With `fill`, each chunk
// with filters is decoded once, as nothing else tells whether it can be decoded, and all of a local source is
// read, as nothing else tells whether it can be read. How certain salvage is of an object is told by
// io::Remarks at the object's address: the JSON of user.hdf5.salvage.
//
// Structures that say whose they are (blocks of arrays and heaps) are proven by their checksums. Nodes of
// trees do not say it, so they are taken where nobody else leads to them, and marked.
//
// Work: kSweepsPerByte times the file's size, and as much again for each structure class that is rebuilt.
// Memory: twelve bytes a found structure (at most kMaxFound of them), sixteen for a moment; up to 33 bytes an
// object that is followed (limits::kMaxWalkedObjects), and 24 of these for a dataset with a damaged index or
// bytes that are gone; kMaxTold bytes for all that is told of objects, as names, ranges and what is made for
// them; sixteen a range between gaps that structures and data take up, and as much again for those of data;
// and the bytes that are made, at most kMadeAnyway and kMadePerFileByte for each byte of the file. Threads:
// `salvage_source` starts its own and ends them.
//
// Which damage it helps with, so that an error names the option, is told in base/advice.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::salvage {

inline constexpr std::size_t kMaxFound = 32U << 20;
// Bytes of memory for what is told of objects, and for what is made for them: some 600 an object. What is
// beyond is shown as it is, and all of the file is then called guessed.
inline constexpr std::uint64_t kMaxTold = 256U << 20;
inline constexpr std::uint64_t kSweepsPerByte = 16;
inline constexpr std::uint64_t kMadePerFileByte = 2;
inline constexpr std::uint64_t kMadeAnyway = 16U << 20;
// Contiguous datasets that end behind the file's end are filled if together they have at most kFilledAnyway
// bytes and this many for each byte of the file: a file that was cut does not claim more, and a reader would
// have to read them. Chunks that are filled are holes; up to as many bytes of chunks are decoded to see which
// cannot be decoded.
inline constexpr std::uint64_t kFilledPerFileByte = 1024;
inline constexpr std::uint64_t kFilledAnyway = 64U << 20;

struct Options {
  bool fill = false;     // if true, lost bytes read as the fill value, else as an error
  unsigned threads = 1;  // number of threads that sweep
  // Called by the sweeping threads, one at a time, with the bytes swept and to be swept, and with zeros while
  // structures are followed. If it returns false, salvage ends (Interrupted).
  std::function<bool(std::uint64_t swept, std::uint64_t all)> progress;
};

// How sure it is that the bytes that are given, all but Finding::missing, are those that were written.
enum class Certainty : std::uint8_t {
  // Checksums cover where they lie and the bytes themselves: those of structures, and of each chunk's
  // filters.
  Proven,
  // A checksum, or structures that agree, tell where they lie; no checksum covers the bytes, as in the
  // ordinary way.
  Plausible,
  Guessed  // they may be wrong
};

// The result of salvage for one object.
struct Finding {
  std::uint64_t address = 0;  // address of the object's header
  std::string name;           // name in Report::lost_and_found; empty if the object is in its place
  Certainty certainty = Certainty::Proven;
  std::string found_by;
  // The byte ranges of the dataset's file that are not known. That of a chunk reaches from the chunk's first
  // byte to its last, so that it may cover bytes of other chunks; so does that of a part of a chunk.
  std::vector<ByteRange> missing;
  // The ranges of stored chunks that are nothing but zeros, checksum included: Fletcher-32 of zeros is zero,
  // so it proves nothing. They may be wrong, whatever `certainty` says of the others.
  std::vector<ByteRange> guessed;
  std::uint64_t filled = 0;  // number of the missing bytes that read as the fill value

  void add_reason(std::string_view reason);  // to `found_by`, unless it is there
  std::string json() const;
};

struct Report {
  bool changed = false;     // false if nothing is damaged; there may be findings all the same
  std::string superblock;   // how the file was recognised; empty if by its superblock
  std::uint64_t swept = 0;  // bytes swept
  std::uint64_t found = 0;  // structures met in the sweep
  // Ranges of the source that it failed to read (EIO): the sweep has passed them over.
  std::vector<ByteRange> unreadable;
  std::vector<Finding> findings;
  std::string lost_and_found;  // name of the group of lost objects, in the root; empty if there is none
};

struct Salvaged {
  std::shared_ptr<io::ByteSource> source;  // the original source if there is nothing to tell
  Report report;
};

// A set of files (family, multi, split) is returned as it is. Errors: those of reading, except where a local
// source fails to read parts of itself; Interrupted, Stale if the file was written meanwhile, and
// BadSignature if nothing of HDF5 was found.
Result<Salvaged> salvage_source(std::shared_ptr<io::ByteSource> source, const Options& options);

// Whether the file's superblock and root are sound, and nothing shows that a writer did not close it, so that
// any damage can be reported when a reader meets it. Reads little.
bool opens_plainly(const std::shared_ptr<io::ByteSource>& source);

}  // namespace h5mount::salvage
