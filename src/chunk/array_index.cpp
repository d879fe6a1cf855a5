#include "array_index.h"

#include "coordinate_runs.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"
#include "h5mount/metadata/will_read.h"

namespace h5mount::chunk {

namespace {

// A scan skips this many damaged runs and then stops: a hostile header can declare millions of pages that do
// not exist, each of which would cost an error.
constexpr unsigned kMaxDamagedRuns = 4'096;

// The client id that follows from the dataset's layout and filters.
format::ChunkClient expected_client(const format::DataLayout& layout, const ChunkGeometry& geometry) {
  if (layout.cls == format::LayoutClass::Structured)
    return geometry.filtered ? format::ChunkClient::StructuredFiltered : format::ChunkClient::Structured;
  return geometry.filtered ? format::ChunkClient::Filtered : format::ChunkClient::Plain;
}

}  // namespace

Result<ChunkRecord> ArrayIndex::find(std::span<const std::uint64_t> scaled) const {
  const std::uint64_t number = order_.number(scaled);
  ElementRun span;
  H5_ASSIGN(const ElementRun run, load_run(number, span, nullptr));
  ChunkRecord out;
  fill_record(run, number, out);
  return out;
}

Status ArrayIndex::find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const {
  const auto& grid = geometry().grid;
  std::vector<std::uint64_t> at(scaled.begin(), scaled.end());
  const std::uint64_t step = order_.stride(grid.size() - 1);
  std::uint64_t number = order_.number(at);
  ElementRun run;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!run.contains(number)) {
      ElementRun span;
      H5_ASSIGN(run, load_run(number, span, nullptr));
    }
    fill_record(run, number, out[i]);
    if (i + 1 == out.size()) break;
    const auto counted = next_row_major(at, grid);
    if (!counted) return fail(Error(ErrorCode::Internal, "a run of chunks beyond the grid"));
    number = *counted + 1 == grid.size() ? number + step : order_.number(at);
  }
  return {};
}

// A block that was asked for and cannot be read is not asked for again.
Status ArrayIndex::ask(Asking& asking, std::uint64_t address, std::uint64_t bytes, Asking::Names names) {
  const bool asked = asking.asked.contains(address);
  if (asked && names == Asking::Names::Others) return {};
  if (!asked && asking.noted.insert(address).second)
    asking.missing.push_back({address, checked_add(address, bytes).value_or(address)});
  return fail(Error(ErrorCode::NotFound, "it is asked for"));
}

bool ArrayIndex::announce(Asking& asking) const {
  if (asking.missing.empty()) return false;
  metadata::will_read_structures(*file_, asking.missing);
  asking.missing.clear();
  asking.asked.merge(asking.noted);
  asking.noted.clear();
  return true;
}

// The levels of a lookup: each pass meets what the structures name that the one before asked for.
void ArrayIndex::will_find(std::span<const Run> runs) const {
  Asking asking;
  do ask_for(runs, asking);
  while (announce(asking));
}

void ArrayIndex::ask_for(std::span<const Run> runs, Asking& asking) const {
  const auto& grid = geometry().grid;
  std::vector<std::uint64_t> at(grid.size());
  ElementRun span;
  for (const Run& run : runs) {
    if (order_.end() == 0 || run.count == 0) continue;
    row_major_place(run.first, grid, at);
    for (std::uint64_t i = 0; i < run.count && asking.missing.size() < kMaxAskedNodes; ++i) {
      if (at[0] >= grid[0]) break;
      const std::uint64_t number = order_.number(at);
      if (!span.contains(number)) {
        span = {};
        if (const auto loaded = load_run(number, span, &asking)) span = *loaded;
        span.block = nullptr;
      }
      if (!next_row_major(at, grid)) break;
    }
  }
}

// Asks for what the elements from `number` on are in, as much as may be wanted at once, and returns the first
// one that it did not look at.
std::uint64_t ArrayIndex::ask_from(std::uint64_t number) const {
  constexpr unsigned kWindow = 512;
  Asking asking;
  std::uint64_t next = number;
  do {
    next = number;
    for (unsigned spans = 0; spans < kWindow && next < order_.end(); ++spans) {
      ElementRun span{.first = next, .count = 1, .block = nullptr, .elements_at = 0};
      if (const auto loaded = load_run(next, span, &asking)) span = *loaded;
      const std::uint64_t left = span.count - (next - span.first);
      next = left < order_.end() - next ? next + left : order_.end();
    }
  } while (announce(asking));
  return next;
}

Status ArrayIndex::for_each(const Visit& visit) const {
  std::vector<std::uint64_t> scaled(order_.rank());
  ChunkRecord record;
  Status status;
  unsigned damaged_runs = 0;
  std::uint64_t asked = file_->far() ? 0 : order_.end();
  for (std::uint64_t number = 0; number < order_.end();) {
    if (number >= asked) asked = ask_from(number);
    ElementRun span{.first = number, .count = 1, .block = nullptr, .elements_at = 0};
    auto run = load_run(number, span, nullptr);
    const ElementRun& covered = run ? *run : span;
    const std::uint64_t left = covered.count - (number - covered.first);
    const std::uint64_t stop = left < order_.end() - number ? number + left : order_.end();
    if (!run) {
      if (status) status = fail(run.error());
      if (++damaged_runs > kMaxDamagedRuns) return status;
    }
    if (!run || !run->block) {
      number = stop;
      continue;
    }
    for (; number < stop; ++number) {
      if (format_.address(run->element(number, format_.record_bytes())) == format::kUndefinedAddress)
        continue;
      if (!order_.scaled(number, scaled)) continue;
      fill_record(*run, number, record);
      if (!visit(scaled, record)) return status;
    }
  }
  return status;
}

void ArrayIndex::fill_record(const ElementRun& run, std::uint64_t number, ChunkRecord& out) const {
  if (run.block)
    decode_record(format_, run.element(number, format_.record_bytes()), out);
  else
    out = {};
}

void decode_record(const format::ChunkRecordFormat& format, const std::byte* record, ChunkRecord& out) {
  const format::ChunkEntry entry = format.entry(record);
  const bool allocated = entry.address != format::kUndefinedAddress;
  out.address = entry.address;
  out.stored_size = allocated ? entry.stored_size : 0;
  out.filter_mask = allocated ? entry.filter_mask : 0;
  const ByteSpan sections = allocated ? format.sections(record) : ByteSpan();
  out.section_fields.assign(sections.begin(), sections.end());
}

Result<std::shared_ptr<const metadata::MetadataBlock>> ArrayIndex::load_page(std::uint64_t address,
                                                                             std::uint64_t entries,
                                                                             std::string_view structure,
                                                                             Asking* asking) const {
  const std::uint64_t element_bytes = format_.record_bytes();
  if (entries > limits::kMaxNodeBytes / element_bytes)
    return fail(Error(ErrorCode::LimitExceeded, structure, "elements", file_->base_address() + address)
                    .with_found(entries));
  return load_block(
      address, entries * element_bytes + 4, structure, asking, Asking::Names::Nothing,
      [&](format::Cursor& cursor) { return format::check_array_page(cursor, entries, element_bytes); });
}

Status ArrayIndex::check_size(std::uint64_t address, std::uint64_t bytes, std::string_view structure) const {
  if (bytes <= limits::kMaxNodeBytes) return {};
  return fail(Error(ErrorCode::LimitExceeded, structure, "size", file_->base_address() + address)
                  .with_found(bytes)
                  .with_expected(limits::kMaxNodeBytes));
}

format::ArrayOfChunks array_of_chunks(const metadata::FileMetadata& file, const format::DataLayout& layout,
                                      const ChunkGeometry& geometry, const GridOrder& order) {
  return {.record = record_parameters(file, layout, geometry, 0), .elements = order.end()};
}

format::ChunkRecordFormat::Parameters record_parameters(const metadata::FileMetadata& file,
                                                        const format::DataLayout& layout,
                                                        const ChunkGeometry& geometry,
                                                        std::size_t coordinates) {
  return {.client = expected_client(layout, geometry),
          .size_of_offsets = file.sizes().offsets,
          .coordinates = static_cast<unsigned>(coordinates),
          .section_count = layout.structured.section_count,
          .chunk_bytes = geometry.chunk_bytes};
}

}  // namespace h5mount::chunk
