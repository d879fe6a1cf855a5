// References: what readers of Zarr need to read a file's arrays without h5mount (view/reference.h): the
// metadata of a store of stored chunks, and for each chunk the place of its bytes, or the bytes themselves.
// Forms in which they are written are sinks. Threads: any.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../core/served_file.h"
#include "../views/virtual_nodes.h"
#include "h5mount/view/zarr.h"
#include "referenced_files.h"

namespace h5mount::tree {

// The forms: kerchunk's JSON and Parquet have version 2 of Zarr, Icechunk has version 3.
enum class ReferencesForm : std::uint8_t { Json, Parquet, Icechunk };

// Where a chunk's bytes are.
struct ReferencedRange {
  std::string_view url;
  std::uint64_t offset = 0, length = 0;
  const ReferencedFile* file = nullptr;  // null: they are the chunk's file at a server
};

// A form that is being written, which takes what it needs. An error of a function ends the walk.
class ReferenceSink {
 public:
  virtual ~ReferenceSink() = default;

  // `key`: of a store of the form's version of Zarr, such as a/.zarray; `json`: its text.
  virtual Status add_metadata(const std::string& /*key*/, std::string_view /*json*/) { return {}; }

  // The chunks of an array follow, each once, in the order of their numbers, and then its metadata. `paths`:
  // all its names in the store; valid until `end_array`.
  virtual Status begin_array(std::span<const std::string> /*paths*/, const view::ZarrArray&) { return {}; }
  // While a plan is made: the next so many chunks are a part.
  virtual Status begin_part(std::uint64_t /*chunks*/) { return {}; }
  virtual Status add_range(std::uint64_t /*chunk*/, const ReferencedRange&) { return {}; }
  virtual Status add_bytes(std::uint64_t /*chunk*/, std::string_view /*bytes*/) { return {}; }
  // `kept`: whether the array is part of the references; if not, or if it fails, what was added since
  // `begin_array` is not either.
  virtual Status end_array(bool /*kept*/) { return {}; }
};

// What became of a file's chunks and arrays, counted by the keys of the store: a dataset with two names
// counts twice.
struct ReferenceSummary {
  std::uint64_t direct = 0, held = 0, served = 0;
  struct LeftOut {
    std::string path, why;
  };
  std::vector<LeftOut> left_out, json_only;  // the first of them
  std::uint64_t more = 0;                    // how many others
  std::vector<LeftOut> no_icechunk;          // of those that version 3 of Zarr lacks
  std::deque<ReferencedFile> files;          // the references are of these; the mounted one first

  // The value of user.hdf5.references, and the text that tells of the files: JSON.
  std::string text() const;
  std::string files_text() const;
};
using ReferenceSummaryPtr = std::shared_ptr<const ReferenceSummary>;

// In the form of one file.
Result<ReferenceSummary> write_references(const ServedFilePtr& file, ReferenceSink& sink,
                                          RequestBudget& budget);

// The references of a snapshot for a form of many files, of which each is made by itself: the arrays that are
// part of it. Arrays that readers of that form do not accept are in the JSON only. Its file keeps it, so it
// refers to none.
struct ReferencePlan {
  static constexpr std::uint64_t kPartChunks = 100'000;  // of an array, in one file, or less
  struct Part {
    std::uint64_t begin = 0;        // its first chunk
    std::uint64_t held_before = 0;  // the bytes held inside by all that is before it
  };
  struct Array {
    std::uint64_t dataset = 0;
    std::vector<std::string> paths;  // its names in the store
    LinkPlace place;                 // of the first of them
    std::uint64_t chunks = 0;
    std::vector<Part> parts;
    // Of a virtual dataset that is shown with the chunks of its sources; else null.
    std::shared_ptr<const object::DatasetDescription> of_sources = nullptr;
    std::uint64_t end_of(std::size_t part) const {
      return part + 1 < parts.size() ? parts[part + 1].begin : chunks;
    }
  };
  ReferencesForm form = ReferencesForm::Parquet;
  std::vector<Array> arrays;
  std::vector<std::string> groups;  // their paths, the root first
  struct Path {
    std::string_view path;
    std::size_t array;
  };
  std::vector<Path> paths;  // of all arrays, by path
  ReferenceSummary summary;
  cache::BlockCache::Charge charge;
};
using ReferencePlanPtr = std::shared_ptr<const ReferencePlan>;

// `sink` is given what the plan's files will hold, but for the metadata. A part of Icechunk's is a box of the
// array's grid, and of an array with many names smaller, as each of them has its references.
Result<ReferencePlan> plan_references(const ServedFilePtr& file, ReferencesForm form, ReferenceSink& sink,
                                      RequestBudget& budget);
// The metadata of the groups and of the plan's arrays.
Status write_planned_metadata(const ServedFilePtr& file, const ReferencePlan& plan, ReferenceSink& sink,
                              RequestBudget& budget);
// The chunks of one part of an array.
Status write_planned_part(const ServedFilePtr& file, const ReferencePlan& plan,
                          const ReferencePlan::Array& array, std::size_t part, ReferenceSink& sink,
                          RequestBudget& budget);

}  // namespace h5mount::tree
