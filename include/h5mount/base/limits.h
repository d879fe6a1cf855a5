// The one table of bounds on what a file may ask for, each with its reason.
// A bound of the format itself is marked (format); the others are ours, far above what sound files hold.
#pragma once

#include <cstddef>
#include <cstdint>

namespace h5mount::limits {

inline constexpr unsigned kMaxRank = 32;           // (format) H5S_MAX_RANK
inline constexpr unsigned kMaxFilters = 32;        // (format) H5Z_MAX_NFILTERS
inline constexpr unsigned kMaxDatatypeDepth = 32;  // nesting of compound, array, vlen…; recursion ends here
inline constexpr unsigned kMaxDatatypeNodes = 65'536;  // members of members: a type is decoded whole
inline constexpr unsigned kMaxTreeDepth = 64;  // B-tree levels, heap indirection: 2^64 entries need fewer
inline constexpr unsigned kMaxHeaderChunks = 4'096;           // continuation blocks of one object header
inline constexpr std::size_t kMaxHeaderBytes = 64U << 20;     // one object header, all its chunks together
inline constexpr unsigned kMaxHeaderMessages = 1U << 20;      // messages of one object header
inline constexpr std::size_t kMaxNodeBytes = 64U << 20;       // one B-tree node, heap block or array page
inline constexpr std::size_t kMaxHeapObjectBytes = 1U << 30;  // one object of a global or fractal heap
inline constexpr std::size_t kMaxFilteredHeapObjectBytes =
    64U << 20;  // the same, filtered: its true size is only a claim
inline constexpr std::uint64_t kMaxChunkBytes = 4ULL << 30;  // one decoded chunk (v5 layouts may say more)
inline constexpr std::uint64_t kMaxLargeChunkBytes =
    1ULL << 40;                                     // the same of a v5 layout; what memory allows rules
inline constexpr unsigned kMaxHeapIdBytes = 4'097;  // (format) H5HF_MAX_ID_LEN
inline constexpr std::size_t kMaxLinkNameBytes = 1U
                                                 << 20;  // the format has no bound; a name is held in memory
inline constexpr std::size_t kMaxAttributeBytes = 1U
                                                  << 30;  // one attribute's value, held in memory to be shown
inline constexpr unsigned kMaxVirtualDepth = 8;           // virtual datasets over virtual datasets
inline constexpr std::size_t kMaxVirtualMappings = 1U << 20;  // entries of one virtual layout
inline constexpr unsigned kMaxFamilyMembers = 65'536;  // each is a file that is looked for and held in memory
inline constexpr std::size_t kMaxCacheImageBytes = 256U << 20;  // a metadata cache image is held in memory
inline constexpr std::size_t kMaxWalkedObjects =
    4U << 20;  // objects whose paths are held in memory, some 100 bytes each
inline constexpr std::size_t kMaxRememberedGroups = 1U
                                                    << 20;  // groups whose place is remembered while mounted
inline constexpr std::uint64_t kMaxTextElements =
    1ULL << 30;  // of a dataset shown as text: each is rendered to know its length
inline constexpr std::uint64_t kMaxSparseListBytes =
    1ULL << 30;  // defined elements of one row of sparse chunks, listed
inline constexpr std::size_t kMaxRememberedNameBytes =
    64U << 20;  // names of external files that links have shown

}  // namespace h5mount::limits
