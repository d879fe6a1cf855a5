// Checks raw data. Chunks go through their filters, on all workers; other bytes can only be read, and are
// counted as unprotected. References from elements into heaps are followed.
#include <algorithm>
#include <atomic>

#include "context.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/row_major.h"
#include "h5mount/base/structures.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/dataset/open_dataset.h"
#include "h5mount/dataset/stored_chunks.h"
#include "h5mount/format/filter_ids.h"
#include "h5mount/io/stored_data.h"
#include "h5mount/metadata/global_heap.h"
#include "h5mount/text/value_text.h"

namespace h5mount::check {

namespace {

constexpr std::uint64_t kReadBytes = 1U << 20;
constexpr unsigned kMaxListed = 16;  // findings of one dataset; more are counted

class DataCheck {
 public:
  DataCheck(const Context& context, PlaceId place, const object::DatasetDescription& description)
      : context_(context),
        place_(place),
        description_(description),
        file_bytes_(context.metadata->source()->size()) {}

  void run() {
    if (context_.environment != nullptr && !open()) return;
    switch (description_.layout.cls) {
      case format::LayoutClass::Contiguous:
        if (description_.external.empty()) check_contiguous();
        break;
      case format::LayoutClass::Chunked:
        check_chunks();
        break;
      case format::LayoutClass::Structured:
        check_sparse();
        break;
      case format::LayoutClass::Virtual:  // data of other datasets, which are checked with those datasets
        check_mappings();
        break;
      case format::LayoutClass::Compact:  // part of the header
        if (shows_elements()) show_elements(ByteSpan(description_.layout.compact_data));
        break;
    }
    if (reader_ && (description_.type->has_variable_part || description_.type->has_reference))
      check_elements();
  }

  DataTotals stored() const { return stored_; }

 private:
  bool open() {
    const auto opened = dataset::open_dataset(*context_.environment, context_.file, description_);
    if (!opened) return found(opened.error()), false;
    reader_ = *opened;
    if (auto problem = reader_->problem()) return found(*problem), false;
    check_sources();
    return true;
  }

  Tally& tally() const { return context_.tally; }

  void found(const Error& error) {
    if (findings_.fetch_add(1) < kMaxListed)
      context_.found(place_, error);
    else
      tally().count_unlisted(error);
  }
  void keep(const Status& status) {
    if (!status) found(status.error());
  }

  void check_sources() {
    constexpr std::size_t kMax = 1024;
    RequestBudget budget;
    for (const dataset::NamedFile& source : reader_->named_sources(kMax, budget).list) {
      if (source.state == dataset::NamedFile::State::Found && source.reason.empty()) continue;
      const std::string name = source.dataset.empty() ? source.file : source.file + ":" + source.dataset;
      context_.note(place_, Error(ErrorCode::NotFound, "source " + name + ": " + source.reason));
    }
  }

  // Returns true if the bytes lie in the file and should be checked; else there is a finding.
  bool claim(std::string_view structure, std::uint64_t address, std::uint64_t bytes, bool is_protected) {
    const Error error(ErrorCode::Truncated, structure, "address",
                      context_.metadata->base_address() + address);
    if (!range_within(address, bytes, file_bytes_)) {
      found(error.with_found(bytes).with_detail("bytes from here reach beyond the end of the file"));
      return false;
    }
    tally().count(&Totals::data_bytes, bytes);
    stored_.bytes += bytes;
    ++stored_.chunks;
    if (!is_protected) tally().count(&Totals::unprotected_bytes, bytes);
    if (context_.extents.add({address, address + bytes, place_, !filtered()})) return true;
    too_much_ = true;
    found(Error(ErrorCode::LimitExceeded, structure, "address", error.offset())
              .with_detail("datasets claim more raw data than are checked of a file of this length"));
    return false;
  }

  // The reader has decoded the mappings already; they are read once more so that their space is accounted
  // for.
  void check_mappings() {
    if (description_.layout.virtual_heap_address == format::kUndefinedAddress) return;
    const auto mappings = metadata::load_global_heap_object(
        *context_.metadata, description_.layout.virtual_heap_address, description_.layout.virtual_heap_index);
    if (!mappings) found(mappings.error());
  }

  void check_contiguous() {
    if (description_.layout.address == format::kUndefinedAddress) return;
    if (claim("ContiguousStorage", description_.layout.address, description_.image_bytes, false))
      show_elements(description_.layout.address, description_.image_bytes);
  }

  // Elements that lie in the file as they are, for who has no reader.
  bool shows_elements() const {
    const format::Datatype& type = *description_.type;
    return context_.observer != nullptr && !tally().quick() && (type.has_variable_part || type.has_reference);
  }
  void show_elements(ByteSpan elements) {
    context_.observer->met_elements(place_, description_.type, elements);
    if (description_.type->has_reference) keep(check_values(elements));
  }
  void show_elements(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t size = description_.element_size;
    if (!shows_elements() || size > limits::kMaxTableRowBytes) return;
    const std::uint64_t part = std::max<std::uint64_t>(1, kReadBytes / size) * size;
    const io::StoredData stored(*context_.metadata->source());
    const std::uint64_t begin = context_.metadata->base_address() + address;
    std::vector<std::byte> elements;
    for (std::uint64_t at = 0; at < bytes && tally().go_on(); at += part) {
      const std::uint64_t next = stored.next(begin + at);
      if (next - begin >= bytes) return;  // zeros, which refer to nothing
      at = std::max(at, (next - begin) / part * part);
      elements.resize(static_cast<std::size_t>(std::min(part, bytes - at) / size * size));
      if (const Status read = noted_read(context_.metadata->source()->read_at(address + at, elements)); !read)
        return found(read.error());
      show_elements(elements);
    }
  }

  // Without a reader, which would tell: whether the format's own filters can have stored so many bytes of a
  // chunk. They store little more than they are given, and those that are none as many.
  void check_stored_size(const chunk::ChunkRecord& record, std::uint64_t chunk_bytes) {
    constexpr std::uint16_t kLastOfFormat = 6;
    constexpr std::uint64_t kMore = 4096, kSum = 4;
    std::uint64_t most = chunk_bytes;
    bool exact = true;
    for (std::size_t i = 0; i < description_.pipeline.filters.size() && i < limits::kMaxFilters; ++i) {
      const std::uint16_t id = description_.pipeline.filters[i].id;
      if ((record.filter_mask >> i & 1) != 0) continue;
      if (id > kLastOfFormat) return;
      if (id == format::kFletcher32) most += kSum;
      exact = exact && (id == format::kFletcher32 || id == format::kShuffle);
    }
    const bool plain =
        description_.layout.partial_chunks_unfiltered && record.stored_size == chunk_bytes;  // at an edge
    if (plain || (exact ? record.stored_size == most : record.stored_size / 2 <= most + kMore)) return;
    found(Error(ErrorCode::InvalidValue, structures::kChunk, "stored_size",
                context_.metadata->base_address() + record.address)
              .with_found(record.stored_size)
              .with_expected(most));
  }

  void check_chunks() {
    const auto geometry = chunk::ChunkGeometry::make(description_.space, description_.layout, filtered());
    if (!geometry) return found(geometry.error());
    const auto index = chunk::open_chunk_index(context_.metadata, description_.layout, *geometry);
    if (!index) return found(index.error());
    const auto all = (*index)->all_allocated();
    if (!all) return found(all.error());
    if (*all) return check_adjacent_chunks(**index, *geometry);
    std::vector<Stored> chunks;
    const auto visit = [&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord& record) {
      tally().count(&Totals::chunks);
      const bool covered = is_protected(record);
      if (!claim(structures::kChunk, record.address, record.stored_size, covered)) return !too_much_;
      if (!reader_) check_stored_size(record, geometry->chunk_bytes);
      if (!filtered())
        show_elements(record.address, record.stored_size);
      else if (reader_ && !tally().quick())
        chunks.push_back(
            {row_major_number(scaled, geometry->grid), record.address, covered ? record.stored_size : 0});
      if (chunks.size() >= kBatch) verify(chunks);
      return !too_much_ && tally().go_on();
    };
    if (const Status walked = (*index)->for_each(visit); !walked) found(walked.error());
    verify(chunks);
    note_zeros();
  }

  // A page that was lost reads as zeros, and the Fletcher-32 of zeros is zero.
  void note_zeros() {
    if (zeros_ == 0) return;
    context_.note(place_,
                  Error(ErrorCode::InvalidValue, structures::kChunk, "bytes",
                        context_.metadata->base_address() + first_zeros_)
                      .with_found(zeros_)
                      .with_detail("stored chunks, of which this is the first, are nothing but zeros: "
                                   "their checksum is zero too, and proves nothing"));
  }

  // Checks chunks that have no index and no filter and lie one behind the other: a sparse file can have any
  // number of them.
  void check_adjacent_chunks(const chunk::ChunkIndex& index, const chunk::ChunkGeometry& geometry) {
    std::uint64_t count = 1;  // no overflow: their bytes fit 64 bits
    std::vector<std::uint64_t> last;
    for (const std::uint64_t extent : geometry.grid) {
      if (extent == 0) return;
      count *= extent;
      last.push_back(extent - 1);
    }
    const auto record = index.find(last);
    if (!record) return found(record.error());
    tally().count(&Totals::chunks, count);
    const std::uint64_t begin = description_.layout.address;
    const std::uint64_t bytes = record->address - begin + record->stored_size;
    if (claim(structures::kChunk, begin, bytes, false)) show_elements(begin, bytes);
  }

  // A chunk with filters.
  struct Stored {
    std::uint64_t number, address;
    std::uint64_t summed;  // bytes that Fletcher-32 covers, itself included; 0 if there is none
  };

  void verify(std::vector<Stored>& stored) {
    if (stored.empty()) return;
    if (const dataset::StoredChunks* const chunks = dataset::stored_chunks_of(*reader_))
      for_each(workers(), stored.size(), tally(), [&](std::uint64_t i) {
        const Status sound = chunks->verify_stored(stored[i].number);
        keep(sound);
        if (sound && are_zeros(stored[i])) count_zeros(stored[i].address);
      });
    stored.clear();
  }

  // Reads no further than the first byte that is not zero.
  bool are_zeros(const Stored& chunk) const {
    constexpr std::uint64_t kFirst = 64;
    std::vector<std::byte> bytes;
    for (std::uint64_t at = 0; at < chunk.summed; at += bytes.size()) {
      bytes.resize(static_cast<std::size_t>(std::min(at == 0 ? kFirst : kReadBytes, chunk.summed - at)));
      if (!context_.metadata->source()->read_at(chunk.address + at, bytes)) return false;
      if (std::ranges::any_of(bytes, [](std::byte one) { return one != std::byte{0}; })) return false;
    }
    return chunk.summed > 0;
  }

  void count_zeros(std::uint64_t address) {
    ++zeros_;
    std::uint64_t first = first_zeros_;
    while (address < first && !first_zeros_.compare_exchange_weak(first, address)) {
    }
  }

  // Readers of values follow the index as well.
  void check_structured_index() {
    const bool by_sections = filtered() || !description_.pipeline.sections.empty();
    const auto geometry = chunk::ChunkGeometry::make(description_.space, description_.layout, by_sections);
    if (!geometry) return found(geometry.error());
    const auto index = chunk::open_chunk_index(context_.metadata, description_.layout, *geometry);
    if (!index) return found(index.error());
    const auto visit = [&](auto, const chunk::ChunkRecord& record) {
      if (context_.observer != nullptr) {
        tally().count(&Totals::chunks);
        claim(structures::kChunk, record.address, record.stored_size, false);
      }
      return !too_much_ && tally().go_on();
    };
    keep((*index)->for_each(visit));
  }

  void check_sparse() {
    if (!reader_ || tally().quick()) return check_structured_index();
    const dataset::SparseForm* const sparse = reader_->sparse_form();
    if (sparse == nullptr) return;
    const auto count = sparse->count(Unbounded());
    if (!count) return found(count.error());
    const auto bytes = checked_mul(*count, description_.element_size);
    if (!bytes) return;  // elements without values
    for_each(workers(), divide_up(*bytes, kReadBytes), tally(), [&](std::uint64_t i) {
      dataset::Pieces pieces;
      const std::uint64_t offset = i * kReadBytes;
      keep(sparse->read_values(offset, std::min(kReadBytes, *bytes - offset), pieces, Unbounded()));
    });
  }

  // Checks the parts of the file's heaps that elements refer to.
  void check_elements() {
    const bool elsewhere =
        description_.layout.cls == format::LayoutClass::Virtual || !description_.external.empty();
    const std::uint64_t size = description_.element_size;
    if (tally().quick() || elsewhere || size == 0) return;
    if (size > limits::kMaxTableRowBytes)
      return found(
          Error(ErrorCode::LimitExceeded, "elements are too large for their references to be checked")
              .with_found(size));
    // The parts consist of whole elements.
    const std::uint64_t part = std::max<std::uint64_t>(1, kReadBytes / size) * size;
    std::vector<dataset::ByteRun> parts;
    const auto check_parts = [&] {
      for_each(workers(), parts.size(), tally(), [&](std::uint64_t i) { keep(check_part(parts[i])); });
      parts.clear();
    };
    for (std::uint64_t at = 0; at < reader_->size() && text_bytes_ <= most_text() && tally().go_on();) {
      const auto data = reader_->find_data(at, Unbounded());
      if (!data && data.error().code() == ErrorCode::NotFound) break;
      const auto hole = data ? reader_->find_hole(*data, Unbounded()) : data;
      if (!hole) return found(hole.error());
      for (at = *data / part * part; at < *hole && tally().go_on(); at += part) {
        parts.push_back({at, std::min(part, reader_->size() - at)});
        if (parts.size() == kBatch) check_parts();
      }
    }
    check_parts();
    if (text_bytes_ > most_text())
      found(
          Error(ErrorCode::LimitExceeded, "elements refer to more than is checked of a file of this length"));
  }

  // The sources of a virtual dataset can ask for any amount of work, so each part of it has the bounds of a
  // request.
  Status read_part(const dataset::ByteRun& run, MutableByteSpan out) {
    if (description_.layout.cls != format::LayoutClass::Virtual)
      return reader_->read_into(run.offset, out, Unbounded());
    RequestBudget budget;
    budget.allow_for(context_.metadata->source()->stored_bytes());
    return reader_->read_into(run.offset, out, budget);
  }

  // A value that can be written as text is sound.
  Status check_part(const dataset::ByteRun& run) {
    if (text_bytes_ > most_text()) return {};
    std::vector<std::byte> bytes(static_cast<std::size_t>(run.bytes));
    H5_TRY(read_part(run, bytes));
    return check_values(bytes);
  }

  Status check_values(ByteSpan bytes) {
    constexpr std::uint64_t kStepsPerByte = 16;  // of elements that refer to nothing
    format::Dataspace elements;
    elements.kind = format::DataspaceKind::Simple;
    elements.dims = {bytes.size() / description_.element_size};
    return context_.values.run(kStepsPerByte * bytes.size(), [&](RequestBudget& budget) -> Status {
      const text::ValueContext values{{.file = context_.metadata, .proves_references = true}, budget};
      H5_ASSIGN(const std::size_t written,
                text::value_text_size(*description_.type, elements, bytes, values));
      text_bytes_ += written;
      return {};
    });
  }

  // Elements may share what they refer to, so there is the same bound as on the dataset's text.
  std::uint64_t most_text() const {
    return limits::kMaxVariableText + limits::kMaxVariableTextPerFileByte * file_bytes_;
  }

  bool filtered() const { return !description_.pipeline.filters.empty(); }
  bool is_protected(const chunk::ChunkRecord& record) const {
    for (std::size_t i = 0; i < description_.pipeline.filters.size() && i < limits::kMaxFilters; ++i)
      if (description_.pipeline.filters[i].id == format::kFletcher32)
        return (record.filter_mask >> i & 1) == 0;
    return false;
  }
  cache::WorkerPool* workers() const { return context_.workers(); }

  const Context& context_;
  const PlaceId place_;
  const object::DatasetDescription& description_;
  const std::uint64_t file_bytes_;
  std::shared_ptr<const dataset::DatasetReader> reader_;
  DataTotals stored_;
  bool too_much_ = false;
  std::atomic<unsigned> findings_{0};
  std::atomic<std::uint64_t> text_bytes_{0};
  std::atomic<std::uint64_t> zeros_{0};  // chunks that are nothing but zeros, and where the first of them is
  std::atomic<std::uint64_t> first_zeros_{~std::uint64_t{0}};
};

}  // namespace

DataTotals check_data(const Context& context, PlaceId place, const object::DatasetDescription& description) {
  DataCheck check(context, place, description);
  check.run();
  return check.stored();
}

}  // namespace h5mount::check
