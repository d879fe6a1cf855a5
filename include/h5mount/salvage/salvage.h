// Salvage: what can still be known of a damaged HDF5 file, as a source that the ordinary readers open.
//
// `salvage_source` reads the file as far as it can be followed, sweeps what no reachable structure accounts
// for, and gives the file's bytes with a few laid over them: a superblock where there is none, object headers
// that lead to rebuilt lists of links and chunks, and a group `lost+found` of the objects that nothing links
// to. What is made lies behind the file's own addresses; the file itself is never written. So every reader,
// view and way out works on a salvaged file as on any other, with the checks that it always makes: what is
// made here is trusted no more than what a stranger wrote.
//
// Bytes that are not known read as an error, or as the fill value with `fill`. Then each chunk with filters
// is decoded once, as nothing else tells whether it can be. How sure it is of an object is told by
// io::Remarks at the object's address: the JSON of user.hdf5.salvage.
//
// Work: kSweepsPerByte times the file's size, and as much again for each structure class that is rebuilt.
// Memory: twelve bytes a found structure (at most kMaxFound of them), sixteen for a moment; 22 bytes an
// object that is followed (limits::kMaxWalkedObjects) and about 600 an object in lost+found (kMaxLost); and
// what is made, which is at most kMadePerFileByte bytes for each byte of the file. Threads: `salvage_source`
// starts its own and ends them.
//
// Which damage it helps with, so that an error names the option, is told in base/cures.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/io/byte_source.h"

namespace h5mount::salvage {

inline constexpr std::size_t kMaxFound = 32U << 20;
inline constexpr std::uint64_t kSweepsPerByte = 16;
inline constexpr std::uint64_t kMadePerFileByte = 2;
inline constexpr std::uint64_t kMadeAnyway = 16U << 20;
// Contiguous datasets that end behind the file's end are filled up to so many bytes together: more than that
// is what no file that was cut claims, and a reader would have to read it. Chunks that are filled are holes;
// up to as many bytes of chunks are decoded to see which do not decode.
inline constexpr std::uint64_t kFilledPerFileByte = 1024;
inline constexpr std::uint64_t kFilledAnyway = 64U << 20;

struct Options {
  bool fill = false;     // lost bytes read as the fill value; else as an error
  unsigned threads = 1;  // of the sweep
  // Called by the sweeping threads, one at a time, with the bytes swept and to be swept, and with zeros while
  // structures are followed; false: end it.
  std::function<bool(std::uint64_t swept, std::uint64_t all)> progress;
};

enum class Certainty : std::uint8_t { Proven, Plausible, Guessed };

// What salvage did for one object.
struct Finding {
  std::uint64_t address = 0;  // of its object header
  std::string name;           // in lost+found; empty for objects in their place
  Certainty certainty = Certainty::Proven;
  std::string found_by;
  struct Range {
    std::uint64_t begin, end;
  };
  // Byte ranges of the dataset's file that are not known: whole rows of chunks where its chunks are.
  std::vector<Range> missing;
  std::uint64_t filled = 0;  // of these bytes, how many read as the fill value

  std::string json() const;
};

struct Report {
  bool changed = false;     // without it the file is as the ordinary way reads it
  std::string superblock;   // how the file was recognised, where its superblock did not tell
  std::uint64_t swept = 0;  // bytes
  std::uint64_t found = 0;  // structures met in the sweep
  std::vector<Finding> findings;
};

struct Salvaged {
  std::shared_ptr<io::ByteSource> source;  // the source itself where nothing changed
  Report report;
};

// A set of files (family, multi, split) is given back as it is. Errors: those of reading, Interrupted,
// Stale where the file was written meanwhile, and BadSignature where nothing of HDF5 was found.
Result<Salvaged> salvage_source(std::shared_ptr<io::ByteSource> source, const Options& options);

// Whether the file's superblock and root are sound, and nothing tells of a writer that did not close it: what
// may be damaged in it can be found when it is met. Reads little.
bool opens_plainly(const std::shared_ptr<io::ByteSource>& source);

}  // namespace h5mount::salvage
