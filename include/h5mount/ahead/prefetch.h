// prefetch: asks a far source for the structures that a walk is about to read, many at once.
//
// Each structure contains the addresses of the next ones, so a walk of a far source waits once for each of
// them. This function runs ahead of the walk, level by level: the readers of the structures themselves run
// over a file in which everything that was not asked for yet is missing (src/ahead/levels.h). What they miss
// is a level: the source is asked for all of it at once (ByteSource::will_read), and they run again. So a
// level costs one round trip, and nothing here knows a structure's form. Errors are met by the walk that
// follows. For local sources it is of no use: ask `FileMetadata::far` first.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <span>

#include "h5mount/base/request_budget.h"
#include "h5mount/format/messages.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::ahead {

// The parts of an object that are wanted besides its header with all continuations.
enum class Wanted : std::uint8_t {
  Header,
  Links,    // what its links lie in
  Listed,   // what tells the length of a small dataset of text
  Listing,  // both of these
  All,      // what its links, its attributes and their values lie in
};

// `objects`: addresses of headers; undefined ones are left out. The work is bounded by limits of this
// function, and by `budget`, which is charged for each structure.
void prefetch(const metadata::FileMetadata& file, std::span<const std::uint64_t> objects, Wanted wanted,
              RequestBudget& budget);

inline constexpr unsigned kAllLevels = 64;

// The storage of links or attributes outside the header, if the file is far. `levels`: with 1, only the
// structures are asked for that the message names.
void prefetch_links(const metadata::FileMetadata& file, const format::SymbolTableMessage& links,
                    unsigned levels = kAllLevels);
void prefetch_links(const metadata::FileMetadata& file, const format::LinkInfo& links,
                    unsigned levels = kAllLevels);

// The global heap collections that the elements refer to, as far as they are not cached.
void prefetch_values(const metadata::FileMetadata& file, const format::Datatype& type, ByteSpan elements,
                     RequestBudget& budget);

}  // namespace h5mount::ahead
