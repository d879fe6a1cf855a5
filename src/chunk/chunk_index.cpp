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
  if (layout.address == format::kUndefinedAddress) return make_empty_index(geometry);
  const auto no_such_kind = [&] {
    return fail(Error(ErrorCode::UnsupportedFeature, structures::kDataLayoutMessage, "chunk_index_type",
                      format::kUndefinedAddress)
                    .with_found(static_cast<std::uint64_t>(layout.index)));
  };
  const bool structured = layout.cls == format::LayoutClass::Structured;
  switch (layout.index) {
    case format::ChunkIndexKind::BTree1:
      if (structured) return no_such_kind();
      return open_btree1_index(std::move(file), layout, geometry);
    case format::ChunkIndexKind::Single:
      return open_single_index(layout, geometry);
    case format::ChunkIndexKind::Implicit:
      if (structured) return no_such_kind();
      return open_implicit_index(std::move(file), layout, geometry);
    case format::ChunkIndexKind::FixedArray:
      return open_fixed_array_index(std::move(file), layout, geometry);
    case format::ChunkIndexKind::ExtensibleArray:
      return open_extensible_array_index(std::move(file), layout, geometry);
    case format::ChunkIndexKind::BTree2:
      return open_btree2_index(std::move(file), layout, geometry);
  }
  return no_such_kind();
}

}  // namespace h5mount::chunk
