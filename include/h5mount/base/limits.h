// The bounds on what a file may ask for, each with its reason. Bounds marked (format) are those of the format
// or of libhdf5; the others are h5mount's own, far above what valid files hold.
#pragma once

#include <cstddef>
#include <cstdint>

namespace h5mount::limits {

// ---- one request

// The work that a request may cause, in steps (base/request_budget.h): a constant, plus a number for each
// byte of the files that it reads. Together 2 s of one core for a file of 1 MiB.
inline constexpr std::uint64_t kRequestSteps = 1ULL << 30;
inline constexpr std::uint64_t kRequestStepsPerFileByte = 1024;
// The most steps that the bytes of files add: a sparse file can have any size and take no space.
inline constexpr std::uint64_t kMaxRequestSteps = 1ULL << 37;
// The time that a request may take, waiting included: a constant, plus a second for each MiB, which is far
// slower than any medium that answers.
inline constexpr std::int64_t kRequestMilliseconds = 60'000;
inline constexpr std::uint64_t kRequestBytesPerMillisecond = 1048;
// Steps of work that takes long whatever its size: opening a file with sources of a virtual dataset, opening
// a source in it, one read of a source, and visiting a chunk in an index. Text of values: steps for each
// byte.
inline constexpr std::uint64_t kStepsPerSourceFile = 100'000;
inline constexpr std::uint64_t kStepsPerSource = 40'000;
inline constexpr std::uint64_t kStepsPerSourceRead = 500;
inline constexpr std::uint64_t kStepsPerIndexedChunk = 64;
inline constexpr std::uint64_t kStepsPerTextByte = 4;

// ---- memory

// The amount by which memory outside the blocks of the cache (texts, listings, scratch memory), for all
// requests together, may exceed the budget of the cache.
inline constexpr std::size_t kMemoryAboveCache = 64U << 20;

// Gaps in the heap are given back to the system whenever so much was freed.
inline constexpr std::size_t kTrimAfterFreedBytes = 64U << 20;

// The amount by which one chunk that is being decoded, with the buffers between its filters, may exceed the
// budget of the cache.
inline constexpr std::uint64_t kMaxDecodeAboveCache = 512U << 20;
// Chunks that together need no more than this, or a quarter of the cache's budget if that is more, are
// decoded at the same time.
inline constexpr std::uint64_t kDecodingBytes = 64U << 20;
// The most that all filters of a chunk may produce together, in chunks and bytes: each of several nested ones
// can multiply its input.
inline constexpr std::uint64_t kMaxDecodedTimes = 8;
inline constexpr std::uint64_t kMaxDecodedExtra = 64U << 20;

// ---- datatypes, dataspaces, filters

inline constexpr unsigned kMaxRank = 32;     // (format) H5S_MAX_RANK
inline constexpr unsigned kMaxFilters = 32;  // (format) H5Z_MAX_NFILTERS
// Nesting of compound, array and variable-length types: bounds the recursion of the decoder and of all that
// goes through a type.
inline constexpr unsigned kMaxDatatypeDepth = 128;
// Types within a datatype: it is decoded completely, and its nodes are held in memory.
inline constexpr unsigned kMaxDatatypeNodes = 65'536;

// ---- metadata structures

// Levels of version 2 B-trees: even 2^64 entries need fewer. (Those of version 1 are bounded by their level,
// one byte that decreases from node to node: with K = 1 every chunk may add one.)
inline constexpr unsigned kMaxTreeDepth = 64;
inline constexpr unsigned kMaxHeaderChunks = 4'096;        // continuation blocks of one object header
inline constexpr std::size_t kMaxHeaderBytes = 64U << 20;  // all chunks of one object header together
inline constexpr unsigned kMaxHeaderMessages = 1U << 20;   // messages of one object header
inline constexpr std::size_t kMaxNodeBytes = 64U << 20;    // one B-tree node, heap block or array page
inline constexpr unsigned kMaxHeapIdBytes = 4'097;         // (format) H5HF_MAX_ID_LEN
// One object of a global or fractal heap.
inline constexpr std::size_t kMaxHeapObjectBytes = 1U << 30;
// A filtered heap object: only the file claims its decoded size, so the bound is lower.
inline constexpr std::size_t kMaxFilteredHeapObjectBytes = 64U << 20;
inline constexpr std::size_t kMaxCacheImageBytes = 256U << 20;  // the image is held in memory
// The format does not bound a link's name; it is held in memory.
inline constexpr std::size_t kMaxLinkNameBytes = 1U << 20;
// One attribute's value: it is held in memory to be converted to text.
inline constexpr std::size_t kMaxAttributeBytes = 1U << 30;

// ---- chunks

inline constexpr std::uint64_t kMaxChunkBytes = 4ULL << 30;  // one decoded chunk, layouts before version 5
// One decoded chunk of a version 5 layout, whose sizes have 64 bits; the available memory is usually less.
inline constexpr std::uint64_t kMaxLargeChunkBytes = 1ULL << 40;
// The list of defined elements of one row of sparse chunks.
inline constexpr std::uint64_t kMaxSparseListBytes = 1ULL << 30;

// ---- virtual datasets and sets of files

inline constexpr unsigned kMaxVirtualDepth = 8;               // virtual datasets with virtual sources
inline constexpr std::size_t kMaxVirtualMappings = 1U << 20;  // entries of one virtual layout
inline constexpr unsigned kMaxFamilyMembers = 65'536;         // each member is opened and held in memory

// ---- the mounted tree

// Objects whose paths are held in memory, about 100 bytes each.
inline constexpr std::size_t kMaxWalkedObjects = 4U << 20;
// Groups whose path is held in memory while mounted.
inline constexpr std::size_t kMaxRememberedGroups = 1U << 20;
// Names of external files collected from the links that were listed.
inline constexpr std::size_t kMaxRememberedNameBytes = 64U << 20;
// Paths of the directories that a walk of the tree is in, all together: groups can be nested as deeply as a
// file has groups, and every name can be long.
inline constexpr std::size_t kMaxWalkedPathBytes = 256U << 20;
// Indices that a directory of slices lists; others can be named.
inline constexpr std::uint64_t kMaxListedSlices = 64U << 10;
// Chunks that the directory of a Zarr array lists: readdir's positions are made from their numbers.
inline constexpr std::uint64_t kMaxListedChunks = 1ULL << 32;
// Texts that are held as long as they are open (attributes, metadata.jsonl), all together. One text may take
// all of it.
inline constexpr std::uint64_t kMaxOpenTextBytes = 1ULL << 30;

// ---- verification

// Findings that are listed; any further ones are only counted.
inline constexpr std::uint64_t kMaxFindings = 100'000;
// Ranges of raw data that are compared with one another, 24 bytes each.
inline constexpr std::size_t kMaxCheckedExtents = 16U << 20;
// Ranges that are known to be allocated, some 60 bytes each; beyond this number the gap beside a new one
// counts as allocated.
inline constexpr std::size_t kMaxAllocatedRanges = 1U << 20;

// ---- datasets as text and as tables

// Elements and cells of a text that needs a pass to measure it: each one is rendered.
inline constexpr std::uint64_t kMaxTextElements = 1ULL << 30;
// Text of variable-length values and of references, for a whole dataset: a constant, plus a number for each
// byte of the file. Values may share what they refer to, so a small file can ask for any amount; a sound file
// shares little.
inline constexpr std::uint64_t kMaxVariableText = 1ULL << 30;
inline constexpr std::uint64_t kMaxVariableTextPerFileByte = 1024;
// Links of a group that is shown as a table: all of them are followed to find out whether it is one, even to
// list its parent.
inline constexpr std::size_t kMaxTableLinks = 4'096;
// Each column has a name and a type in memory while its file is open.
inline constexpr std::uint64_t kMaxTableColumns = 65'536;
// A row, as stored, is read in one piece.
inline constexpr std::uint64_t kMaxTableRowBytes = 64U << 20;
// Strings of variable length in one Zarr chunk, as stored and as text, held in memory while it is open.
inline constexpr std::uint64_t kMaxStringChunkBytes = 256U << 20;
// Chunks of a Zarr array with codecs: a chunk that was never written is put into a frame of the codec, which
// is held in memory while it is open. Arrays with larger chunks are shown without codecs.
inline constexpr std::uint64_t kMaxFramedChunkBytes = 256U << 20;

}  // namespace h5mount::limits
