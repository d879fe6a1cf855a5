// ListingAdvice: whether a listing's replies should bring the attributes of the entries (READDIRPLUS). They
// save a request for each entry of a program that stats all of them, and cost a header's decoding for each
// entry of one that only wants names. The kernel decides it for each directory by what happened while it was
// read, so that a program that first reads a directory and then stats its entries (find, fts) never gets
// attributes beyond the first reply. This decides by what the same process did with earlier listings. It is
// asked where replies to listings are large (op_init.cpp); elsewhere the kernel decides.
//
// At first a process gets attributes in the first reply of each directory, with a few entries held out: a
// lookup of an entry that it was given without attributes means that it wants them. Bounded. Threads: any.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

enum class EntryAttributes : std::uint8_t { None, Most, All };  // Most: not of entries that are held out

class ListingAdvice {
 public:
  // The advice for the next reply to `process`. `first`: it is the first reply of the listing.
  EntryAttributes advise(pid_t process, tree::NodeId directory, bool first);
  // A reply was made in which `without` entries have no attributes.
  void note_listed(pid_t process, tree::NodeId directory, std::size_t without);
  // A name in a directory was looked up, and exists. Returns true if the kernel has only the names of the
  // directory and the process looks up one after the other: if the kernel drops the names, it asks for the
  // rest of the listing with attributes.
  bool note_lookup(pid_t process, tree::NodeId directory);
  // A listing of a directory was read to its end, most entries without attributes. Whether the kernel may
  // keep it: not the first time, as the next reader may want attributes, as `ls -l` does after `ls`.
  bool may_keep_names(tree::NodeId directory);

  static bool held_out(std::size_t position) { return position % kHeldOutEvery == kHeldOutEvery - 1; }
  static constexpr std::size_t kHeldOutEvery = 64;
  static constexpr unsigned kManyLookups = 32;       // of one process in one directory in a row
  static constexpr std::size_t kDirectories = 1024;  // whose names were listed alone; as above
  static constexpr std::size_t kProcesses = 64;      // whose behaviour is known; a later one replaces another

 private:
  enum class Wish : std::uint8_t { Unknown, Names, Attributes };
  struct Process {
    pid_t id = 0;
    Wish wish = Wish::Unknown;
    std::size_t unanswered = 0;  // entries held out so far
    // The directories listed last without attributes.
    std::array<tree::NodeId, 8> listed{};
    std::size_t next = 0;
    tree::NodeId looking_in = 0;  // where it looked up names last, and how many in a row
    unsigned lookups = 0;
  };
  struct NamesAlone {
    tree::NodeId directory = 0;
    bool kept = false;  // by the kernel
  };
  Process& process(pid_t id) H5_REQUIRES(mutex_);

  Mutex mutex_;
  std::array<Process, kProcesses> processes_ H5_GUARDED_BY(mutex_);
  std::array<NamesAlone, kDirectories> names_alone_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::fuse
