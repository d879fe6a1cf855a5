#include "h5mount/chunk/chunk_index.h"

#include "h5mount/base/row_major.h"
#include "h5mount/base/structures.h"
#include "index_kinds.h"

namespace h5mount::chunk {

Status ChunkIndex::find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const {
  std::vector<std::uint64_t> at(scaled.begin(), scaled.end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    H5_ASSIGN(out[i], find(at));
    if (!next_row_major(at, geometry_.grid) && i + 1 < out.size())
      return fail(Error(ErrorCode::Internal, "a run of chunks beyond the grid"));
  }
  return {};
}

Result<std::unique_ptr<ChunkIndex>> open_chunk_index(metadata::FileMetadataPtr file,
                                                     const format::DataLayout& layout,
                                                     const ChunkGeometry& geometry) {
  struct Kind {
    format::ChunkIndexKind kind;
    OpenIndex* open;
    bool structured;  // structured chunks have it too
  };
  static constexpr Kind kKinds[] = {
      {format::ChunkIndexKind::BTree1, open_btree1_index, false},
      {format::ChunkIndexKind::Single, open_single_index, true},
      {format::ChunkIndexKind::Implicit, open_implicit_index, false},
      {format::ChunkIndexKind::FixedArray, open_fixed_array_index, true},
      {format::ChunkIndexKind::ExtensibleArray, open_extensible_array_index, true},
      {format::ChunkIndexKind::BTree2, open_btree2_index, true},
  };
  if (layout.address == format::kUndefinedAddress) return make_empty_index(geometry);
  for (const Kind& kind : kKinds)
    if (kind.kind == layout.index && (kind.structured || layout.cls != format::LayoutClass::Structured))
      return kind.open(std::move(file), layout, geometry);
  return fail(Error(ErrorCode::UnsupportedFeature, structures::kDataLayoutMessage, "chunk_index_type",
                    format::kUndefinedAddress)
                  .with_found(static_cast<std::uint64_t>(layout.index)));
}

}  // namespace h5mount::chunk
