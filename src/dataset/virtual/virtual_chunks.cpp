#include "virtual_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"
#include "h5mount/format/filter_ids.h"

namespace h5mount::dataset {

namespace {

constexpr std::uint64_t kMostChunks = 1U << 24;
// Contiguous sources are chunks of their own, which readers take whole.
constexpr std::uint64_t kMostContiguousBytes = 16U << 20;

Error disagrees(const std::string& file, std::string_view how) {
  return {ErrorCode::UnsupportedFeature, fmt::format("{}{}{}", file, file.empty() ? "" : ": ", how)};
}

// The shape of the chunks of a source; empty: it has none.
std::vector<std::uint64_t> chunk_shape(const object::DatasetDescription& source) {
  if (source.layout.cls == format::LayoutClass::Contiguous && source.image_bytes <= kMostContiguousBytes)
    return source.space.dims;
  return source.layout.cls == format::LayoutClass::Chunked &&
                 source.layout.chunk_dims.size() == source.space.dims.size()
             ? source.layout.chunk_dims
             : std::vector<std::uint64_t>();
}

}  // namespace

bool same_decoding(const std::vector<format::FilterDescription>& a,
                   const std::vector<format::FilterDescription>& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    const bool describes_itself = one.id == format::kDeflate || one.id == format::kBlosc ||
                                  one.id == format::kZstd || one.id == format::kBzip2;
    return one.id == other.id && (describes_itself || one.client_data == other.client_data);
  });
}

class VirtualChunks::Builder {
 public:
  Builder(std::shared_ptr<const VirtualReader> whole, RequestBudget& budget)
      : whole_(std::move(whole)),
        budget_(budget),
        shown_(whole_->description()),
        charge_(whole_->cache()->no_charge()) {}

  Result<DatasetReaderPtr> build() {
    const auto visit = [&](const auto&... piece) { return add(piece...); };
    H5_TRY(whole_->for_each_piece(visit, budget_));
    if (chunk_.empty()) return fail(disagrees({}, "no source is there"));
    shown_.layout = {};
    shown_.layout.cls = format::LayoutClass::Chunked;
    shown_.layout.chunk_dims = chunk_;
    std::shared_ptr<VirtualChunks> out(new VirtualChunks(whole_, shown_));
    std::uint64_t chunks = 1;
    for (std::size_t i = 0; i < chunk_.size(); ++i) {
      out->grid_.push_back(divide_up(shown_.space.dims[i], chunk_[i]));
      chunks *= std::min(out->grid_.back(), kMostChunks + 1);
      if (chunks > kMostChunks) return fail(disagrees({}, "more chunks than references can be of"));
    }
    H5_TRY(charge_.resize(charge_.bytes() + static_cast<std::size_t>(chunks) * sizeof(std::uint32_t)));
    out->charge_ = std::move(charge_);
    out->box_of_.resize(static_cast<std::size_t>(chunks));
    for (std::size_t i = 0; i < boxes_.size(); ++i) H5_TRY(show(boxes_[i], i, *out));
    out->dimensions_ = std::move(dimensions_);
    out->source_chunk_ = std::move(source_chunk_);
    for (Shown& box : boxes_) out->boxes_.push_back(std::move(box.box));
    return out;
  }

 private:
  struct Shown {
    Box box;
    Places extent;  // in chunks of the whole
  };
  static constexpr std::size_t kOfBox = sizeof(Shown) + 400;  // with its names and places

  Status add(const std::string& file, const std::string& dataset, const ElementSelection& view,
             const format::Selection& selection, std::optional<ElementSelection::Clip> clip) {
    H5_TRY(budget_.spend(limits::kStepsPerSourceRead));
    if (view.count() == 0) return {};
    const VirtualSources::SourcePtr found = whole_->source(file, dataset, budget_);
    if (found->error) return fail(*found->error);
    if (!found->reader) return {};  // its part reads as the fill value, as if it were never written
    const object::DatasetDescription& source = found->reader->description();
    H5_ASSIGN(const auto selected, ElementSelection::make(selection, source.space.dims, clip));
    const auto to = view.box(), from = selected.box();
    if (!to || !from) return fail(disagrees(file, "a part of it that is no box"));
    H5_ASSIGN(const bool same, whole_->same_elements(*found));
    if (!same) return fail(disagrees(file, "another type"));
    if (fill_element(source) != fill_element(shown_)) return fail(disagrees(file, "another fill value"));
    H5_TRY(pair(file, source, *to, *from));
    H5_TRY(charge_.resize(charge_.bytes() + kOfBox));
    Shown box{{file, dataset, to->start, from->start}, to->extent};
    for (std::size_t i = 0; i < chunk_.size(); ++i) {
      const std::uint64_t end = to->start[i] + to->extent[i];
      if (to->start[i] % chunk_[i] != 0 || (end % chunk_[i] != 0 && end != shown_.space.dims[i]))
        return fail(disagrees(file, "its part does not begin and end at chunks"));
      box.box.to[i] /= chunk_[i];
      box.extent[i] = divide_up(to->extent[i], chunk_[i]);
    }
    for (std::size_t j = 0; j < source_chunk_.size(); ++j) {
      if (from->start[j] % source_chunk_[j] != 0)
        return fail(disagrees(file, "a part that begins in a chunk"));
      box.box.from[j] /= source_chunk_[j];
    }
    boxes_.push_back(std::move(box));
    return {};
  }

  // The dimensions of a source are those of the whole in their order; either may have others of length 1.
  Status pair(const std::string& file, const object::DatasetDescription& source,
              const ElementSelection::Box& to, const ElementSelection::Box& from) {
    const Places of_source = chunk_shape(source);
    if (of_source.empty()) return fail(disagrees(file, "it has no chunks"));
    Places chunk(to.extent.size(), 1);
    std::vector<std::size_t> dimensions(from.extent.size(), to.extent.size());
    std::size_t j = 0;
    for (std::size_t i = 0; i < to.extent.size(); ++i) {
      while (j < from.extent.size() && from.extent[j] == 1 && to.extent[i] != 1) ++j;
      if (j < from.extent.size() && to.extent[i] == from.extent[j]) {
        chunk[i] = of_source[j];
        dimensions[j++] = i;
      } else if (to.extent[i] != 1) {
        return fail(disagrees(file, "a part of another shape"));
      }
    }
    for (std::size_t k = 0; k < dimensions.size(); ++k)
      if (dimensions[k] == to.extent.size() && (from.extent[k] != 1 || of_source[k] != 1))
        return fail(disagrees(file, "a part of another shape"));
    if (chunk_.empty()) {
      chunk_ = std::move(chunk);
      dimensions_ = std::move(dimensions);
      source_chunk_ = of_source;
      shown_.pipeline = source.pipeline;
      return {};
    }
    if (chunk != chunk_ || dimensions != dimensions_ || of_source != source_chunk_)
      return fail(disagrees(file, "chunks of another shape"));
    return same_decoding(source.pipeline.filters, shown_.pipeline.filters)
               ? Status()
               : fail(disagrees(file, "other filters"));
  }

  // Enters the chunks of a box.
  Status show(const Shown& box, std::size_t number, VirtualChunks& out) {
    Places at(box.extent.size());
    std::uint64_t count = 1;
    for (const std::uint64_t extent : box.extent) count *= extent;
    H5_TRY(budget_.spend(count));
    for (std::uint64_t i = 0; i < count; ++i) {
      row_major_place(i, box.extent, at);
      for (std::size_t k = 0; k < at.size(); ++k) at[k] += box.box.to[k];
      std::uint32_t& owner = out.box_of_[static_cast<std::size_t>(row_major_number(at, out.grid_))];
      if (owner != 0) return fail(disagrees(box.box.file, "its part overlaps with another"));
      owner = static_cast<std::uint32_t>(number + 1);
    }
    return {};
  }

  const std::shared_ptr<const VirtualReader> whole_;
  RequestBudget& budget_;
  object::DatasetDescription shown_;
  Places chunk_, source_chunk_;
  std::vector<std::size_t> dimensions_;
  std::vector<Shown> boxes_;
  cache::BlockCache::Charge charge_;
};

Result<DatasetReaderPtr> VirtualChunks::make(std::shared_ptr<const VirtualReader> whole,
                                             RequestBudget& budget) {
  return Builder(std::move(whole), budget).build();
}

Result<DatasetReaderPtr> with_source_chunks(const DatasetReaderPtr& dataset, RequestBudget& budget) {
  auto whole = std::dynamic_pointer_cast<const VirtualReader>(dataset);
  if (!whole) return fail(disagrees({}, "longer than its sources"));
  return VirtualChunks::make(std::move(whole), budget);
}

// The number of a chunk of the whole among those of the source.
Result<std::uint64_t> VirtualChunks::number_in(const DatasetReader& source, const Box& box,
                                               std::uint64_t chunk) const {
  const std::vector<std::uint64_t>& dims = source.description().space.dims;
  if (chunk_shape(source.description()) != source_chunk_)
    return fail({ErrorCode::Stale, box.file + " has other chunks now"});
  Places at(grid_.size());
  row_major_place(chunk, grid_, at);
  std::uint64_t out = 0;
  for (std::size_t j = 0; j < dims.size(); ++j) {
    const std::size_t i = dimensions_[j];
    const std::uint64_t place = box.from[j] + (i < at.size() ? at[i] - box.to[i] : 0);
    out = out * divide_up(dims[j], source_chunk_[j]) + place;
  }
  return out;
}

template <class Use>
Status VirtualChunks::use_source(const Box& box, std::uint64_t chunk, Use&& use) const {
  RequestBudget budget;
  return whole_->use_source(box.file, box.dataset, budget, [&](const DatasetReader& source) -> Status {
    H5_ASSIGN(const std::uint64_t number, number_in(source, box, chunk));
    return use(source, number);
  });
}

Status VirtualChunks::find_stored_run(std::uint64_t first, std::span<Stored> out) const {
  if (!range_within(first, out.size(), box_of_.size()))
    return fail(Error(ErrorCode::OutOfRange, "Dataset", "chunk", first));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = {};
    const std::uint32_t box = box_of_[static_cast<std::size_t>(first) + i];
    if (box == 0) continue;
    H5_TRY(use_source(boxes_[box - 1], first + i,
                      [&](const DatasetReader& source, std::uint64_t number) -> Status {
                        if (const StoredChunks* const chunks = stored_chunks_of(source)) {
                          H5_ASSIGN(out[i], chunks->find_stored(number));
                          return {};
                        }
                        const auto place = source.stored_place(0);
                        if (place && place->length >= source.size())
                          out[i] = {source.size(), true, place->offset, place->source};
                        return {};
                      }));
  }
  return {};
}

Status VirtualChunks::read_stored(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length,
                                  Pieces& out) const {
  const std::uint32_t box = box_of_[static_cast<std::size_t>(chunk)];
  if (box == 0) return fail(Error(ErrorCode::OutOfRange, "Dataset", "chunk", chunk));
  return use_source(boxes_[box - 1], chunk, [&](const DatasetReader& source, std::uint64_t number) {
    const StoredChunks* const chunks = stored_chunks_of(source);
    RequestBudget budget;
    return chunks != nullptr ? chunks->read_stored(number, offset, length, out)
                             : source.read(offset, length, {nullptr, budget}, out);
  });
}

Status VirtualChunks::verify_stored(std::uint64_t chunk) const {
  const std::uint32_t box = box_of_[static_cast<std::size_t>(chunk)];
  if (box == 0) return {};
  return use_source(boxes_[box - 1], chunk, [&](const DatasetReader& source, std::uint64_t number) {
    const StoredChunks* const chunks = stored_chunks_of(source);
    return chunks != nullptr ? chunks->verify_stored(number) : Status();
  });
}

// A chunk inside the extent, row by row.
Status VirtualChunks::read_chunk(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length, Pieces& out,
                                 RequestBudget& budget) const {
  const Places& dims = description().space.dims;
  const Places& shape = description().layout.chunk_dims;
  const std::uint64_t element = description().element_size;
  Places origin(grid_.size()), at(grid_.size());
  row_major_place(chunk, grid_, origin);
  for (std::size_t i = 0; i < origin.size(); ++i) origin[i] *= shape[i];
  const std::uint64_t row_bytes = shape.back() * element;
  const auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(length));
  MutableByteSpan to = block->bytes();
  while (!to.empty()) {
    Places rows(shape.begin(), shape.end() - 1);
    std::fill(at.begin(), at.end(), 0);
    row_major_place(offset / row_bytes, rows, std::span(at).first(rows.size()));
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += origin[i];
    const std::uint64_t within = offset % row_bytes;
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), row_bytes - within));
    H5_TRY(whole_->read_into(row_major_number(at, dims) * element + within, to.first(part), budget));
    to = to.subspan(part);
    offset += part;
  }
  out.add(block->bytes(), block);
  return {};
}

}  // namespace h5mount::dataset
