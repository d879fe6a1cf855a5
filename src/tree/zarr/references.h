// References: what readers of Zarr need to read a file's arrays without h5mount (view/reference.h): the
// metadata of stored.zarr, and for each chunk the place of its bytes, or the bytes themselves. Forms in which
// they are written are sinks. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../core/served_file.h"
#include "../views/virtual_nodes.h"
#include "h5mount/view/zarr.h"

namespace h5mount::tree {

// A form that is being written, which takes what it needs. An error of a function ends the walk.
class ReferenceSink {
 public:
  virtual ~ReferenceSink() = default;

  // `key`: of a store of version 2, such as a/.zarray; `json`: its text.
  virtual Status add_metadata(const std::string& /*key*/, std::string_view /*json*/) { return {}; }

  // The chunks of an array follow, each once, in the order of their numbers, and then its metadata. `paths`:
  // all its names in the store; valid until `end_array`.
  virtual Status begin_array(std::span<const std::string> /*paths*/, const view::ZarrArray&) { return {}; }
  virtual Status add_range(std::uint64_t /*chunk*/, std::string_view /*url*/, std::uint64_t /*offset*/,
                           std::uint64_t /*length*/) {
    return {};
  }
  virtual Status add_bytes(std::uint64_t /*chunk*/, std::string_view /*bytes*/) { return {}; }
  // `kept`: whether the array is part of the references; if not, what was added since `begin_array` is not
  // either.
  virtual void end_array(bool /*kept*/) {}
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
  struct File {
    std::string url;
    std::uint64_t size = 0;
    std::int64_t modified = 0;  // nanoseconds since 1970
    std::string entity_tag;     // empty: its server states none, or it is local
  };
  std::vector<File> files;  // the references are of these; the mounted one first

  // The value of user.hdf5.references, and the text that tells of the files: JSON.
  std::string text() const;
  std::string files_text() const;
};
using ReferenceSummaryPtr = std::shared_ptr<const ReferenceSummary>;

Result<ReferenceSummary> write_references(const ServedFilePtr& file, ReferenceSink& sink,
                                          RequestBudget& budget);

// The references of a snapshot for a form of many files, of which each is made by itself: the arrays that are
// part of it. Arrays that readers of that form do not accept are in the other form only. Its file keeps it,
// so it refers to none.
struct ReferencePlan {
  static constexpr std::uint64_t kPartChunks = 100'000;  // of an array, in one file
  struct Array {
    std::uint64_t dataset = 0;
    std::vector<std::string> paths;          // its names in the store
    LinkPlace place;                         // of the first of them
    std::vector<std::uint64_t> held_before;  // for each part: the bytes held inside by all that is before it
  };
  std::vector<Array> arrays;
  struct Path {
    std::string_view path;
    std::size_t array;
  };
  std::vector<Path> paths;  // of all arrays, by path
  ReferenceSummary summary;
  cache::BlockCache::Charge charge;
};
using ReferencePlanPtr = std::shared_ptr<const ReferencePlan>;

Result<ReferencePlan> plan_references(const ServedFilePtr& file, RequestBudget& budget);
// The metadata of the groups and of the plan's arrays.
Status write_planned_metadata(const ServedFilePtr& file, const ReferencePlan& plan, ReferenceSink& sink,
                              RequestBudget& budget);
// The chunks of one part of an array.
Status write_planned_part(const ServedFilePtr& file, const ReferencePlan::Array& array, std::uint64_t part,
                          ReferenceSink& sink, RequestBudget& budget);

// Whether the mount shows references: it does not if they would name a path that must not be told.
bool shows_references(const MountContext& context);

}  // namespace h5mount::tree
