#include "h5mount/view/reference.h"

#include <algorithm>
#include <array>

#include "../numpy_strings.h"
#include "chunk_image.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"
#include "number_forms.h"
#include "stored_codec.h"

namespace h5mount::view {

namespace {

using dataset::StoredChunks;

std::string filters_reason(const object::DatasetDescription& dataset) {
  if (dataset.pipeline.filters.empty()) return "chunks that are too large";
  std::string out = "no codec of Zarr for";
  for (const format::FilterDescription& filter : dataset.pipeline.filters)
    out.append(out.back() == 'r' ? " filter " : ", ").append(text::filter_name(filter));
  return out;
}

// Why elements of the type are made for Zarr; empty: they are as stored.
std::string made_elements(const object::DatasetDescription& dataset, ZarrEncoding encoding) {
  const auto type = zarr_type(*dataset.type, encoding);
  if (!type) return type.error().text();
  if (type->variable_strings) return "strings of variable length";
  if (!type->is_stored_form(dataset.element_size)) return "elements that are stored with padding";
  if (NumpyStrings::in(*dataset.type)) return "strings with other bytes behind their end than zeros";
  return {};
}

}  // namespace

ReferenceRule reference_rule(const object::DatasetDescription& dataset, ZarrEncoding encoding) {
  using enum ReferenceForm;
  if (std::string why = made_elements(dataset, encoding); !why.empty()) return {Made, std::move(why)};
  switch (dataset.layout.cls) {
    case format::LayoutClass::Compact:
      return {Made, "compact data"};
    case format::LayoutClass::Contiguous:
      return {Runs};
    case format::LayoutClass::Virtual:
      return {Decoded, "a virtual dataset"};
    case format::LayoutClass::Structured:
      return {Decoded, "sparse storage"};
    case format::LayoutClass::Chunked:
      break;
  }
  const auto codec = zarr_codec(dataset, encoding);
  // LZ4 of Zarr has another header than HDF5's.
  if (!codec || codec->compressor == StoredCompressor::Lz4) return {Decoded, filters_reason(dataset)};
  return {Chunks};
}

std::string base64_text(ByteSpan bytes) {
  return base64(bytes, "base64:");
}

ReferencedArray::ReferencedArray(ViewInput source, ZarrArray array)
    : source_(std::move(source)),
      array_(std::move(array)),
      rule_(reference_rule(source_.reader->description(), array_.encoding())),
      chunk_bytes_(ChunkImage::describe(source_.reader->description(), array_).image_bytes) {}

Result<ReferencedArray> ReferencedArray::of(ViewInput source, ZarrEncoding encoding, RequestBudget& budget) {
  std::string why;
  const bool is_virtual = source.reader->description().layout.cls == format::LayoutClass::Virtual;
  if (is_virtual) {
    auto chunked = dataset::with_source_chunks(source.reader, budget);
    if (!chunked && chunked.error().code() != ErrorCode::UnsupportedFeature) return fail(chunked.error());
    if (chunked)
      source.reader = *std::move(chunked);
    else
      why = "a virtual dataset (" + chunked.error().text() + ")";
  }
  H5_ASSIGN(ZarrArray array, ZarrArray::of(source.reader->description(), encoding));
  ReferencedArray out(std::move(source), std::move(array));
  out.of_sources_ = is_virtual && why.empty();
  // The chunks of a joined dataset that are none of its files' are runs of these, or nowhere.
  const DatasetReaderPtr stored = without_padding(out.source_.reader);
  const object::DatasetDescription& shown = stored->description();
  if (out.rule_.form == ReferenceForm::Chunks && shown.pipeline.filters.empty() && stored->size() > 0 &&
      dataset::stored_chunks_of(*stored) == nullptr && stored->storage_bytes_known() != 0)
    out.rule_.form = ReferenceForm::Runs;
  if (!why.empty() && out.rule_.form == ReferenceForm::Decoded) out.rule_.reason = std::move(why);
  return out;
}

Status ReferencedArray::for_each(std::uint64_t begin, std::uint64_t end, const Visit& visit,
                                 RequestBudget& budget) const {
  end = std::min(end, array_.chunk_count());
  if (const auto problem = source_.reader->problem()) return fail(*problem);
  switch (rule_.form) {
    case ReferenceForm::Chunks:
      return visit_chunks(begin, end, visit, budget);
    case ReferenceForm::Runs:
      return visit_runs(begin, end, visit, budget);
    default:
      break;
  }
  for (std::uint64_t number = begin; number < end; ++number) {
    H5_TRY(budget.spend(limits::kStepsPerSourceRead));
    H5_TRY(visit({.number = number}));
  }
  return {};
}

Status ReferencedArray::visit_chunks(std::uint64_t begin, std::uint64_t end, const Visit& visit,
                                     RequestBudget& budget) const {
  constexpr std::uint64_t kStepsPerChunk = 4;
  const auto codec = zarr_codec(source_.reader->description(), array_.encoding());
  // The dataset may be padded to the length of a dimension.
  const DatasetReaderPtr stored = without_padding(source_.reader);
  const StoredChunks* const chunks = dataset::stored_chunks_of(*stored);
  const bool padded = stored != source_.reader;
  if (!codec || (chunks == nullptr && stored->size() > 0 && stored->storage_bytes_known() != 0))
    return fail({ErrorCode::Internal, "chunks that have no index"});
  const auto show = [&](std::uint64_t number, const StoredChunks::Stored& found,
                        ReferencedChunk::Constant unwritten = ReferencedChunk::kUnwritten) {
    ReferencedChunk out{.number = number};
    if (found.bytes == 0) out.constant = unwritten;
    const auto part = stored_part(*codec, found, chunk_bytes_);
    if (part) {
      const std::uint64_t length = part->range.end - part->range.begin;
      if (const auto place = found.source->place_of(found.address + part->range.begin, length)) {
        out.file = place->file;
        out.offset = place->offset;
        out.length = length;
      }
    }
    return visit(out);
  };
  std::array<StoredChunks::Stored, 512> run;
  for (std::uint64_t number = begin; number < end;) {
    if (chunks == nullptr || padded) {
      const ChunkImage image(source_.reader, array_, number);
      StoredChunks::Stored found;
      const auto own = chunks != nullptr ? image.stored_number() : std::nullopt;
      if (own) {
        H5_ASSIGN(found, chunks->find_stored(*own));
      }
      H5_TRY(budget.spend(kStepsPerChunk * 16));
      if (image.all_padding())
        H5_TRY(show(number, {}, ReferencedChunk::kPadding));
      else if (own || (chunks == nullptr && !padded))
        H5_TRY(show(number, found));
      else  // padded in part, or as good as: it has elements of its own
        H5_TRY(visit({.number = number}));
      ++number;
      continue;
    }
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(run.size(), end - number));
    H5_TRY(chunks->find_stored_run(number, std::span(run).first(some)));
    H5_TRY(budget.spend(kStepsPerChunk * some));
    for (std::size_t i = 0; i < some; ++i) H5_TRY(show(number + i, run[i]));
    number += some;
  }
  return {};
}

Status ReferencedArray::visit_runs(std::uint64_t begin, std::uint64_t end, const Visit& visit,
                                   RequestBudget& budget) const {
  const dataset::DatasetReader& reader = *source_.reader;
  for (std::uint64_t number = begin; number < end; ++number) {
    H5_TRY(budget.spend(limits::kStepsPerSourceRead));
    ReferencedChunk out{.number = number};
    const auto range = ChunkImage(source_.reader, array_, number).image_range();
    if (range) {
      H5_ASSIGN(const dataset::WrittenRun written, reader.written_run(range->begin, budget));
      const bool unwritten = !written.written && written.end >= range->end;
      if (unwritten) out.constant = ReferencedChunk::kUnwritten;
      const auto run = unwritten ? std::nullopt : reader.stored_place(range->begin);
      // Readers take whole chunks. What the last one has behind the extent may be anything that is in the
      // file.
      const auto place = run && run->length >= range->end - range->begin
                             ? run->source->place_of(run->offset, chunk_bytes_)
                             : std::nullopt;
      if (place) {
        out.file = place->file;
        out.offset = place->offset;
        out.length = chunk_bytes_;
      }
    }
    H5_TRY(visit(out));
  }
  return {};
}

Result<ComputedFilePtr> ReferencedArray::made(std::uint64_t number, RequestBudget& budget) const {
  ViewInput source = source_;
  source.reader = std::make_shared<const ChunkImage>(source_.reader, array_, number);
  return zarr_chunk_view(array_.encoding()).make(std::move(source), {}, budget);
}

Result<std::string> ReferencedArray::constant(std::uint64_t number, RequestBudget& budget) const {
  constexpr std::uint64_t kMostBytes = 16U << 20, kStepsPerByte = 8;
  const std::uint64_t element = source_.reader->description().element_size;
  const StoredCodec codec = zarr_codec(source_.reader->description(), array_.encoding())
                                .value_or(StoredCodec{.item_bytes = element});
  if (chunk_bytes_ > kMostBytes)
    return fail({ErrorCode::TooLarge, "a chunk that was never written is too large to be held inside"});
  H5_TRY(budget.spend(kStepsPerByte * chunk_bytes_));
  std::vector<std::byte> bytes(static_cast<std::size_t>(chunk_bytes_));
  const auto first = MutableByteSpan(bytes).first(static_cast<std::size_t>(element));
  H5_TRY(ChunkImage(source_.reader, array_, number).read_into(0, first, budget));
  for (std::size_t done = first.size(); done < bytes.size(); done *= 2)  // the elements so far once more
    std::copy_n(bytes.begin(), std::min(done, bytes.size() - done),
                bytes.begin() + static_cast<std::ptrdiff_t>(done));
  shuffle_bytes(codec.shuffle, bytes);
  std::string out;
  H5_TRY(append_compressed(codec.compressor, codec.item_bytes, bytes, out));
  return out;
}

}  // namespace h5mount::view
