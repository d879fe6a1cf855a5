#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"
#include "h5mount/chunk/chunk_index.h"

namespace h5mount::chunk {

namespace {

// The messages were decoded earlier, so these errors have a field but no offset.
Error layout_error(ErrorCode code, std::string_view field, std::string text) {
  return Error(code, structures::kDataLayoutMessage, field, format::kUndefinedAddress)
      .with_detail(std::move(text));
}

Status check_ranks(const format::Dataspace& space, const format::DataLayout& layout) {
  const std::size_t rank = space.rank();
  if (layout.cls != format::LayoutClass::Chunked && layout.cls != format::LayoutClass::Structured)
    return fail(layout_error(ErrorCode::InvalidValue, "class", "not a chunked layout"));
  if (space.kind != format::DataspaceKind::Simple || rank == 0 || rank > limits::kMaxRank)
    return fail(layout_error(ErrorCode::InvalidValue, "dimensionality", "chunks need 1 to 32 dimensions"));
  if (layout.chunk_dims.size() != rank)
    return fail(layout_error(ErrorCode::InvalidValue, "dimensionality", "differs from the dataspace's rank")
                    .with_found(layout.chunk_dims.size())
                    .with_expected(rank));
  if (!space.max_dims.empty() && space.max_dims.size() != rank)
    return fail(Error(ErrorCode::InvalidValue, "Dataspace", "max_dims", format::kUndefinedAddress)
                    .with_found(space.max_dims.size())
                    .with_expected(rank));
  return {};
}

Result<std::uint64_t> bytes_of_chunk(const format::DataLayout& layout) {
  std::uint64_t bytes = layout.element_size;
  if (bytes == 0) return fail(layout_error(ErrorCode::InvalidValue, "element_size", "is zero"));
  const std::uint64_t limit = layout.version >= 5 ? limits::kMaxLargeChunkBytes : limits::kMaxChunkBytes;
  for (const std::uint64_t dim : layout.chunk_dims) {
    if (dim == 0) return fail(layout_error(ErrorCode::InvalidValue, "chunk_dims", "a dimension is zero"));
    const auto product = checked_mul(bytes, dim);
    if (!product || *product > limit)
      return fail(layout_error(ErrorCode::LimitExceeded, "chunk_dims", "the chunk is too large")
                      .with_expected(limit));
    bytes = *product;
  }
  return bytes;
}

}  // namespace

Result<ChunkGeometry> ChunkGeometry::make(const format::Dataspace& space, const format::DataLayout& layout,
                                          bool filtered) {
  H5_TRY(check_ranks(space, layout));
  ChunkGeometry g;
  H5_ASSIGN(g.chunk_bytes, bytes_of_chunk(layout));
  g.dims = space.dims;
  g.max_dims = space.max_dims.empty() ? space.dims : space.max_dims;
  g.chunk_dims = layout.chunk_dims;
  g.element_size = layout.element_size;
  g.filtered = filtered;
  g.grid.reserve(g.dims.size());
  std::uint64_t chunks = 1;
  bool empty = false, overflow = false;
  for (std::size_t i = 0; i < g.dims.size(); ++i) {
    g.grid.push_back(divide_up(g.dims[i], g.chunk_dims[i]));
    empty = empty || g.grid[i] == 0;
    const auto product = checked_mul(chunks, g.grid[i]);
    overflow = overflow || !product;
    chunks = product.value_or(1);
  }
  if (overflow && !empty)
    return fail(Error(ErrorCode::TooLarge, "Dataspace", "dims", format::kUndefinedAddress)
                    .with_detail("more chunks than 64 bits can number"));
  return g;
}

}  // namespace h5mount::chunk
