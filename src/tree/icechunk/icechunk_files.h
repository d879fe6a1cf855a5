// The files of an Icechunk repository, version 2 of its specification
// (https://icechunk.io/en/stable/reference/spec), that has one snapshot. They are the same bytes whenever
// they are made of the same references.
//
//   repo            the branch main, the snapshot, and where readers may fetch chunks from
//   snapshots/ID    groups and arrays with their zarr.json, and the manifests of each array
//   manifests/ID    for each array the chunks of some boxes of its grid: where they lie, or their bytes
//   transactions/ID what the snapshot changed: nothing, as it is the first
//
// Each is a head of 39 bytes and a FlatBuffer. Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../references/references.h"
#include "flat_buffer.h"

namespace h5mount::tree {

// An array as a snapshot and manifests have it.
struct IcechunkArray {
  std::vector<std::uint64_t> shape, grid;
  std::size_t first_piece = 0, pieces = 0;
  std::uint64_t first_node = 0;  // the number of its first name's node; others follow
};

// A box of an array's grid: a part of the plan.
struct IcechunkPiece {
  std::size_t array = 0, part = 0;
  std::uint64_t bytes = 0, chunks = 0;  // chunks: references, of all names
  std::uint32_t manifest = 0;
};

struct IcechunkManifest {
  std::size_t first_piece = 0, pieces = 0;
  std::uint64_t size = 0, chunks = 0;
};

struct IcechunkPlan {
  ReferencePlan references;
  std::vector<IcechunkArray> arrays;  // of those of `references`
  std::vector<IcechunkPiece> pieces;
  std::vector<IcechunkManifest> manifests;
  struct Node {
    std::string_view path;
    std::optional<std::size_t> array;  // nullopt: a group
    std::uint64_t number = 0;
  };
  std::vector<Node> nodes;   // by path
  std::uint64_t digest = 0;  // of what the references are of
  std::string server;        // chunks are at this server, too; empty: none are
  cache::BlockCache::Charge charge;
};

// The name of a snapshot's or a manifest's file.
std::string snapshot_name(const IcechunkPlan& plan);
std::string manifest_name(const IcechunkPlan& plan, std::uint32_t manifest);

// A manifest that is being written: pieces, each with its chunks in their order.
class ManifestWriter final : public ReferenceSink {
 public:
  // `id`: 12 bytes. `arrays`: how many names the arrays of all its pieces have.
  ManifestWriter(TreeText& out, std::string_view id, std::uint64_t arrays);

  // `grid` stays valid until the next piece begins.
  Status begin_piece(std::uint64_t first_node, std::size_t names, std::span<const std::uint64_t> grid,
                     std::uint64_t chunks);
  Status add_range(std::uint64_t chunk, const ReferencedRange& range) override;
  Status add_bytes(std::uint64_t chunk, std::string_view bytes) override;
  // A piece takes as many bytes wherever it stands.
  Status end_piece();
  Status finish() { return buffer_.finish(); }
  std::uint64_t size() const { return buffer_.size(); }

 private:
  using Slots = std::vector<FlatBuffer::Slot>;

  void write_index(std::uint64_t chunk, FlatBuffer::Slot slot);
  FlatBuffer::Slot next_slot();
  void begin_file(const ReferencedFile& file);
  void write_held();

  FlatBuffer buffer_;
  FlatBuffer::Slot next_array_ = 0, next_reference_ = 0;
  std::span<const std::uint64_t> grid_;
  // Texts that many references have, and bytes that were held last: they follow the references.
  std::map<std::string, Slots> texts_;
  std::string held_;
  Slots held_by_;
  // Of the last range.
  const ReferencedFile* file_ = nullptr;
  Slots *location_ = nullptr, *entity_tag_ = nullptr;  // of `texts_`; no entity tag is checked if it is null
  std::uint32_t modified_ = 0;                         // the time that is checked; 0: none
  std::vector<std::uint64_t> place_;
  std::string index_;
};

// The size of a manifest of such pieces.
std::uint64_t manifest_size(const MountContext& context, std::uint64_t arrays, std::uint64_t piece_bytes);

Status write_manifest(const ServedFilePtr& file, const IcechunkPlan& plan, std::uint32_t manifest,
                      TreeText& out, RequestBudget& budget);
Status write_snapshot(const ServedFilePtr& file, const IcechunkPlan& plan, TreeText& out,
                      RequestBudget& budget);
Status write_transaction(const ServedFilePtr&, const IcechunkPlan& plan, TreeText& out, RequestBudget&);
Status write_repository(const ServedFilePtr&, const IcechunkPlan& plan, TreeText& out, RequestBudget&);

}  // namespace h5mount::tree
