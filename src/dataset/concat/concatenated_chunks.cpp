// The chunks of a concatenated dataset: those that its description states, and those of its parts.
#include "concatenated_reader.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"
#include "h5mount/dataset/dataset_part.h"

namespace h5mount::dataset {
namespace {

Error no_such_chunk(std::uint64_t chunk) {
  return {ErrorCode::OutOfRange, "Dataset", "chunk", chunk};
}

// The place of a chunk's first element.
struct ChunkOrigin {
  ChunkOrigin(const object::DatasetDescription& dataset, std::uint64_t chunk) {
    const auto& dims = dataset.space.dims;
    const auto& shape = dataset.layout.chunk_dims;
    for (std::size_t i = dims.size(); i-- > 0;) {
      const std::uint64_t grid = divide_up(dims[i], shape[i]);
      at[i] = chunk % grid * shape[i];
      chunk /= grid;
    }
    inside = chunk == 0;
  }
  std::uint64_t at[limits::kMaxRank] = {};
  bool inside;
};

bool has_chunks(const object::DatasetDescription& dataset) {
  return dataset.layout.cls == format::LayoutClass::Chunked && dataset.image_bytes > 0 &&
         dataset.layout.chunk_dims.size() == dataset.space.dims.size();
}

}  // namespace

std::size_t ConcatenatedReader::part_of_chunk(std::uint64_t chunk) const {
  return part_at(ChunkOrigin(description(), chunk).at[whole_->dimension]);
}

std::optional<std::uint64_t> ConcatenatedReader::chunk_in_part(std::uint64_t chunk, std::size_t part,
                                                               const OpenPart& open) const {
  const std::size_t d = whole_->dimension;
  if (!open.as_stored() || !has_chunks(open.reader->description())) return std::nullopt;
  const object::DatasetDescription& own = open.reader->description();
  const auto& shape = description().layout.chunk_dims;
  const ChunkOrigin origin(description(), chunk);
  const std::uint64_t begin = origin.at[d] - starts_[part];
  const std::uint64_t shown = std::min(shape[d], starts_.back() - origin.at[d]);
  if (begin % shape[d] != 0 || origin.at[d] + shown > starts_[part + 1]) return std::nullopt;
  // A part may lack the dimension.
  const bool lacks = own.space.dims.size() < shape.size();
  std::uint64_t number = 0;
  for (std::size_t i = 0, j = 0; i < shape.size(); ++i) {
    if (lacks && i == d) {
      if (shape[d] != 1) return std::nullopt;
      continue;
    }
    if (own.layout.chunk_dims[j] != shape[i]) return std::nullopt;
    const std::uint64_t at = i == d ? begin : origin.at[i];
    number = number * divide_up(own.space.dims[j], shape[i]) + at / shape[i];
    ++j;
  }
  return number;
}

// A chunk inside the extent: that of a part, or a box of the image.
Status ConcatenatedReader::read_chunk(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length,
                                      Pieces& out, RequestBudget& budget) const {
  const ChunkOrigin origin(description(), has_chunks(description()) ? chunk : 0);
  if (!has_chunks(description()) || !origin.inside) return fail(no_such_chunk(chunk));
  const std::size_t part = part_at(origin.at[whole_->dimension]);
  Pieces pieces;
  H5_TRY(parts_.use(part, budget, [&](const OpenPartPtr& open) -> Status {
    pieces = Pieces();
    const auto number = chunk_in_part(chunk, part, *open);
    if (!number) return {};
    H5_TRY(open->reader->read_chunk(*number, offset, length, pieces, budget));
    H5_ASSIGN(pieces, passed_on(part, open, std::move(pieces), nullptr));
    return {};
  }));
  if (pieces.total() == 0 && length > 0) {
    DatasetPart box = whole_dataset(description());
    for (std::size_t i = 0; i < box.axes.size(); ++i) {
      box.axes[i].start = origin.at[i];
      box.axes[i].count = std::min(description().layout.chunk_dims[i], box.axes[i].count - origin.at[i]);
    }
    H5_TRY(open_part(shared_from_this(), std::move(box))->read(offset, length, {nullptr, budget}, pieces));
  }
  if (pieces.total() != length) return fail(no_such_chunk(chunk).with_found(offset));
  out.append(std::move(pieces));
  return {};
}

// ---- as they are stored

template <class Use>
Status ConcatenatedChunks::use_chunk(std::uint64_t chunk, Use&& use) const {
  if (!has_chunks(description()) || !ChunkOrigin(description(), chunk).inside)
    return fail(no_such_chunk(chunk));
  const std::size_t part = part_of_chunk(chunk);
  RequestBudget budget;
  return parts().use(part, budget, [&](const OpenPartPtr& open) -> Status {
    const auto number = chunk_in_part(chunk, part, *open);
    const StoredChunks* const chunks = number ? stored_chunks_of(*open->reader) : nullptr;
    if (chunks == nullptr) return fail({ErrorCode::Stale, "the dataset has other chunks now"});
    return use(part, open, *chunks, *number);
  });
}

Status ConcatenatedChunks::find_stored_run(std::uint64_t first, std::span<Stored> out) const {
  if (out.empty()) return {};
  const auto last = checked_add(first, out.size() - 1);
  if (!last || !has_chunks(description()) || !ChunkOrigin(description(), *last).inside)
    return fail(no_such_chunk(first));
  RequestBudget budget;
  while (!out.empty()) {
    const std::size_t part = part_of_chunk(first);
    std::size_t count = 1;
    while (count < out.size() && part_of_chunk(first + count) == part) ++count;
    H5_TRY(parts().use(part, budget, [&](const OpenPartPtr& open) {
      return find_in_part(part, *open, first, out.first(count));
    }));
    first += count;
    out = out.subspan(count);
  }
  return {};
}

// Chunks whose numbers follow one another share the look-up of the part's index. A chunk of a gap was never
// written, if what is shown of such chunks is what is shown of gaps.
Status ConcatenatedChunks::find_in_part(std::size_t part, const OpenPart& open, std::uint64_t first,
                                        std::span<Stored> out) const {
  if (open.reader == nullptr) {
    if (whole().gap_fill != description().fill.value)
      return fail({ErrorCode::UnsupportedFeature, "a gap that has another value than unwritten chunks"});
    std::ranges::fill(out, Stored());
    return {};
  }
  const StoredChunks* const chunks = stored_chunks_of(*open.reader);
  for (std::size_t i = 0; i < out.size();) {
    const auto number = chunk_in_part(first + i, part, open);
    if (chunks == nullptr || !number) return fail({ErrorCode::Stale, "the dataset has other chunks now"});
    std::size_t count = 1;
    while (i + count < out.size() && chunk_in_part(first + i + count, part, open) == *number + count) ++count;
    H5_TRY(chunks->find_stored_run(*number, out.subspan(i, count)));
    i += count;
  }
  return {};
}

Status ConcatenatedChunks::read_stored(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length,
                                       Pieces& out) const {
  Pieces pieces;
  H5_TRY(use_chunk(chunk,
                   [&](std::size_t part, const OpenPartPtr& open, const StoredChunks& chunks,
                       std::uint64_t number) -> Status {
                     pieces = Pieces();
                     H5_TRY(chunks.read_stored(number, offset, length, pieces));
                     H5_ASSIGN(pieces, passed_on(part, open, std::move(pieces), nullptr));
                     return {};
                   }));
  out.append(std::move(pieces));
  return {};
}

Status ConcatenatedChunks::verify_stored(std::uint64_t chunk) const {
  if (has_chunks(description()) && ChunkOrigin(description(), chunk).inside) {
    H5_ASSIGN(const Stored stored, find_stored(chunk));
    if (stored.bytes == 0) return {};
  }
  return use_chunk(chunk, [](std::size_t, const OpenPartPtr&, const StoredChunks& chunks,
                             std::uint64_t number) { return chunks.verify_stored(number); });
}

}  // namespace h5mount::dataset
