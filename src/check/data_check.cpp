// Raw data. Chunks go through their filters, all workers at once; other bytes are read. What has no checksum
// is counted as unprotected: only that it can be read is known of it.
#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/row_major.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/dataset/stored_chunks.h"
#include "h5mount/text/value_text.h"
#include "object_check.h"

namespace h5mount::check {

namespace {

constexpr std::uint16_t kFletcher32 = 3;
constexpr std::uint64_t kReadBytes = 1U << 20;
constexpr std::size_t kBatch = 256;             // chunks that are handed to the workers at a time
constexpr unsigned kMaxFindingsOfDataset = 16;  // more of the same dataset are counted, not listed

class DataCheck {
 public:
  DataCheck(const Context& context, const std::string& path, const object::DatasetDescription& description)
      : context_(context), path_(path), description_(description) {}

  void run() {
    const auto opened = dataset::DatasetReader::open(context_.environment, context_.file, description_);
    if (!opened) return found(opened.error());
    reader_ = *opened;
    if (auto problem = reader_->problem()) return found(*problem);
    check_sources();
    switch (description_.layout.cls) {
      case format::LayoutClass::Compact:
        break;  // part of the header
      case format::LayoutClass::Contiguous:
        check_contiguous();
        break;
      case format::LayoutClass::Chunked:
        check_chunks();
        break;
      case format::LayoutClass::Virtual:
      case format::LayoutClass::Structured:
        read_all();
        break;
    }
    if (description_.type->has_variable_part || description_.type->has_reference) check_elements();
  }

 private:
  Tally& tally() const { return context_.tally; }

  void found(const Error& error) {
    if (findings_++ < kMaxFindingsOfDataset) tally().found(path_, error);
  }

  void check_sources() {
    constexpr std::size_t kMost = 1024;
    for (const dataset::NamedSource& source : reader_->named_sources(kMost).list) {
      if (source.state == dataset::NamedSource::State::Found && source.reason.empty()) continue;
      const std::string name = source.dataset.empty() ? source.file : source.file + ":" + source.dataset;
      tally().note(path_, Error(ErrorCode::NotFound, "source " + name + ": " + source.reason));
    }
  }

  void count_stored(std::uint64_t begin, std::uint64_t bytes, bool is_protected) {
    context_.extents.add(owner_, begin, bytes);
    tally().count(&Totals::data_bytes, bytes);
    if (!is_protected) tally().count(&Totals::unprotected_bytes, bytes);
  }

  void check_contiguous() {
    const bool here =
        description_.external.empty() && description_.layout.address != format::kUndefinedAddress;
    if (here) {
      owner_ = context_.extents.add_owner(path_);
      count_stored(description_.layout.address, description_.image_bytes, false);
    }
    if (!description_.external.empty() || here) read_all();
  }

  // Calls check(offset, bytes) for the parts of the image that are data, on all workers, `most` bytes at a
  // time; the errors are findings.
  template <class Check>
  void for_each_data(std::uint64_t most, Check&& check) {
    std::vector<dataset::ByteRun> batch;
    const auto run = [&] {
      for_each(batch.size(), [&](std::uint64_t i) { return check(batch[i].offset, batch[i].bytes); });
      batch.clear();
    };
    std::uint64_t at = 0;
    while (at < reader_->size() && tally().go_on()) {
      const auto data = reader_->find_data(at);
      if (!data && data.error().code() == ErrorCode::NotFound) break;
      const auto hole = data ? reader_->find_hole(*data) : data;
      if (!hole) return found(hole.error());
      // Whole multiples, so that elements are not cut.
      for (at = *data / most * most; at < *hole && tally().go_on(); at += most) {
        batch.push_back({at, std::min(most, reader_->size() - at)});
        if (batch.size() == kBatch) run();
      }
    }
    run();
  }

  // For what reading itself finds.
  void read_all() {
    if (tally().quick()) return;
    for_each_data(kReadBytes, [this](std::uint64_t offset, std::uint64_t length) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(length));
      return reader_->read_into(offset, bytes);
    });
  }

  // Calls check(0) … check(count - 1) on all workers; the errors are findings.
  template <class Check>
  void for_each(std::uint64_t count, Check&& check) {
    for (std::uint64_t first = 0; first < count && tally().go_on(); first += kBatch) {
      const auto batch = static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, count - first));
      std::vector<Status> done(batch);
      const auto job = [&](std::size_t i) { done[i] = check(first + i); };
      if (context_.environment.workers)
        context_.environment.workers->for_each_index(batch, job);
      else
        for (std::size_t i = 0; i < batch; ++i) job(i);
      for (const Status& status : done)
        if (!status) found(status.error());
    }
  }

  void check_chunks() {
    const auto geometry = chunk::ChunkGeometry::make(description_.space, description_.layout, filtered());
    if (!geometry) return found(geometry.error());
    const auto index = chunk::open_chunk_index(context_.metadata, description_.layout, *geometry);
    if (!index) return found(index.error());
    owner_ = context_.extents.add_owner(path_);
    const std::uint64_t end = context_.metadata->addresses()->size();
    std::vector<std::uint64_t> numbers;
    const auto visit = [&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord& record) {
      tally().count(&Totals::chunks);
      count_stored(record.address, record.stored_size, is_protected(record));
      if (record.address > end || record.stored_size > end - record.address)
        found(Error(ErrorCode::Truncated, "Chunk", "address",
                    context_.metadata->base_address() + record.address)
                  .with_detail("the chunk reaches beyond the end of the file"));
      else if (filtered() && !tally().quick())
        numbers.push_back(row_major_number(scaled, geometry->grid));
      if (numbers.size() >= kBatch) verify(numbers);
      return tally().go_on();
    };
    if (const Status walked = (*index)->for_each(visit); !walked) found(walked.error());
    verify(numbers);
    if (!filtered()) read_all();
  }

  void verify(std::vector<std::uint64_t>& numbers) {
    const dataset::StoredChunks* const chunks = dataset::stored_chunks_of(*reader_);
    if (chunks != nullptr)
      for_each(numbers.size(), [&](std::uint64_t i) { return chunks->verify_stored(numbers[i]); });
    numbers.clear();
  }

  bool filtered() const { return !description_.pipeline.filters.empty(); }
  bool is_protected(const chunk::ChunkRecord& record) const {
    for (std::size_t i = 0; i < description_.pipeline.filters.size() && i < 32; ++i)
      if (description_.pipeline.filters[i].id == kFletcher32) return (record.filter_mask >> i & 1) == 0;
    return false;
  }

  // What elements refer to in the file's heaps.
  void check_elements() {
    const std::uint64_t size = description_.element_size;
    if (tally().quick() || size == 0) return;
    const std::uint64_t batch = std::max<std::uint64_t>(1, kReadBytes / size) * size;
    for_each_data(batch, [this](std::uint64_t offset, std::uint64_t length) -> Status {
      const text::ValueContext values{context_.metadata, [](std::uint64_t) { return std::nullopt; }};
      std::vector<std::byte> bytes(static_cast<std::size_t>(length));
      H5_TRY(reader_->read_into(offset, bytes));
      std::string text;
      const auto element = static_cast<std::size_t>(description_.element_size);
      for (std::size_t at = 0; at < bytes.size(); at += element, text.clear())
        H5_TRY(text::append_json(*description_.type, ByteSpan(bytes).subspan(at, element), values, text));
      return {};
    });
  }

  const Context& context_;
  const std::string& path_;
  const object::DatasetDescription& description_;
  std::shared_ptr<const dataset::DatasetReader> reader_;
  std::uint32_t owner_ = 0;
  unsigned findings_ = 0;
};

}  // namespace

void check_data(const Context& context, const std::string& path,
                const object::DatasetDescription& description) {
  DataCheck(context, path, description).run();
}

}  // namespace h5mount::check
