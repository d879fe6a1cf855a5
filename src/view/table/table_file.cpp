#include "table_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "h5mount/ahead/prefetch.h"
#include "h5mount/text/text_bounds.h"

namespace h5mount::view {

namespace {

constexpr std::uint64_t kBlockRows = 4096;
constexpr std::uint64_t kBlockCells = 64U << 10;
constexpr std::uint64_t kBlockBytes = 1U << 20;  // of rows as they are stored

// The most bytes that the names of enumeration values take in a row. Other long values are found when rows
// are rendered.
std::uint64_t names_in_row(const Table& table) {
  std::map<const format::Datatype*, std::uint64_t> known;
  std::uint64_t bytes = 0;
  for (const Column& column : table.columns) {
    if (column.type->cls != format::DatatypeClass::Enum) continue;
    const auto [longest, is_new] = known.try_emplace(column.type.get());
    if (is_new) longest->second = text::value_text_bounds(*column.type, {}, {}).most;
    // A line of text is one column of many elements.
    bytes += longest->second * (table.columns.size() == 1 ? table.row_bytes / column.type->size : 1);
  }
  return bytes;
}

std::uint64_t rows_of_block(const Table& table, std::uint64_t row_text) {
  const std::uint64_t by_bytes = kBlockBytes / std::max<std::uint64_t>(1, table.row_bytes);
  const std::uint64_t by_cells = kBlockCells / table.columns.size();
  const std::uint64_t by_text =
      kMaxBlockText / std::max<std::uint64_t>(1, std::max(row_text, names_in_row(table)));
  return std::clamp<std::uint64_t>(std::min({by_bytes, by_cells, by_text}), 1, kBlockRows);
}

// Reserved memory that is not written costs nothing, while a text that grows would exist twice.
constexpr std::size_t kLongRowRoom = 128U << 20;

}  // namespace

std::uint64_t max_variable_text(const ViewInput& source) {
  const metadata::FileMetadataPtr& file = source.values.file;
  const format::Datatype& type = *source.reader->description().type;
  if (!file || (!type.has_variable_part && !type.has_reference)) return format::kUnlimited;
  return limits::kMaxVariableText + limits::kMaxVariableTextPerFileByte * file->source()->stored_bytes();
}

TableFile::TableFile(ViewInput source, Table table, std::string header, std::string trailer,
                     std::size_t row_text)
    : source_(std::move(source)),
      table_(std::move(table)),
      header_(std::make_shared<const std::string>(std::move(header))),
      trailer_(std::make_shared<const std::string>(std::move(trailer))),
      rows_per_block_(rows_of_block(table_, row_text)),
      blocks_(std::make_shared<BlockOwner>(source_.environment.cache)) {}

Status TableFile::load_rows(std::uint64_t first, std::uint64_t last, std::vector<std::byte>& out,
                            RequestBudget& budget) const {
  H5_TRY(budget.spend((last - first) * table_.row_bytes));
  out.resize(static_cast<std::size_t>((last - first) * table_.row_bytes));
  H5_TRY(source_.reader->read_into(first * table_.row_bytes, out, budget));
  // The values that rows of a far file refer to are asked for together.
  if (const auto& file = source_.values.file; file && file->far())
    ahead::prefetch_values(*file, *source_.reader->description().type, out, budget);
  return {};
}

Status RowsFile::render(std::uint64_t first, std::uint64_t last, std::string& out,
                        RequestBudget& budget) const {
  std::vector<std::byte> rows;
  H5_TRY(load_rows(first, last, rows, budget));
  return render_loaded(rows.data(), static_cast<std::size_t>(last - first), out, budget);
}

Status RowsFile::render_loaded(const std::byte* rows, std::size_t count, std::string& out,
                               RequestBudget& budget) const {
  text::ValueContext values{source().values, budget};
  const auto append = [&](std::size_t max_bytes) -> Status {
    values.max_bytes = max_bytes;
    Status done = text_->append_rows(rows, count, static_cast<std::size_t>(table().row_bytes), values, out);
    H5_TRY(budget.spend(limits::kStepsPerTextByte * out.size()));  // what was refused took its time too
    return done;
  };
  Status done = append(kMaxBlockText);
  if (done || done.error().code() != ErrorCode::TooLarge || count > 1) return done;
  std::string().swap(out);
  // Only one such row of the process is rendered at a time, as a small file can ask each of many threads for
  // tens of MiB.
  static std::timed_mutex one_long_row;
  std::unique_lock rendering(one_long_row, std::defer_lock);
  while (!rendering.try_lock_for(std::chrono::milliseconds(50))) H5_TRY(budget.check());
  out.reserve(kLongRowRoom);
  done = append(text::kAnyLength);
  if (!done) std::string().swap(out);
  return done;
}

void TableFile::keep(const Part& part, const std::string& text) const {
  const auto copy = [&](cache::Block& block) -> Status {
    std::memcpy(block.bytes().data(), text.data(), text.size());
    return {};
  };
  (void)blocks_->cache().get_or_load({blocks_->id(), part.rows, part.row}, text.size(), copy, Unbounded());
}

Result<cache::BlockPtr> TableFile::block(const Part& part, RequestBudget& budget) const {
  if (part.damaged) {
    std::string text;
    H5_TRY(render(part.row, part.row + part.rows, text, budget));
    return fail({ErrorCode::Stale, "rows that could not be read when the table was measured"});
  }
  const auto size = static_cast<std::size_t>(part.bytes);
  return blocks_->cache().get_or_load(
      {blocks_->id(), part.rows, part.row}, size,
      [&](cache::Block& block) { return render_part(part, block.bytes(), budget); }, budget);
}

Status TableFile::render_part(const Part& part, MutableByteSpan out, RequestBudget& budget) const {
  std::string text;
  text.reserve(out.size());
  H5_TRY(render(part.row, part.row + part.rows, text, budget));
  if (text.size() != out.size()) return fail({ErrorCode::Stale, "the text's length has changed"});
  std::memcpy(out.data(), text.data(), out.size());
  return {};
}

Status TableFile::read_damaged(const Part&, std::uint64_t, std::uint64_t, Error why, RequestBudget&,
                               dataset::Pieces&) const {
  return fail(std::move(why));
}

// A part exists as text and as a block for a moment, and rows of many MiB for each worker would exceed the
// memory that a mount may use.
bool TableFile::together(std::uint64_t part_bytes) const {
  constexpr std::size_t kPartsInBudget = 8, kMaxBytes = 16U << 20;
  return part_bytes <= std::min(blocks_->cache().budget() / kPartsInBudget, kMaxBytes);
}

// Submits the blocks that a forward reader will need next, two for each worker.
void TableFile::read_ahead(dataset::ReadPattern& pattern, std::uint64_t index) const {
  const auto workers = source_.environment.workers;
  if (!workers || part_count() == 0) return;
  const std::uint64_t last = std::min(index + 2 * std::uint64_t{workers->threads()}, part_count() - 1);
  const auto [begin, end] = pattern.claim_ahead(index, last);
  for (std::uint64_t i = begin; i < end; ++i) {
    const Part next = part(i);
    if (!together(next.bytes)) return;
    if (blocks_->cache().contains_or_pending({blocks_->id(), next.rows, next.row})) continue;
    (void)workers->submit([self = shared_from_this(), next] {
      RequestBudget budget;
      if (const auto& file = self->source_.values.file) budget.allow_for(file->source()->stored_bytes());
      (void)self->block(next, budget);
    });
  }
}

// The kernel has the pages that a forward reader has passed. Text that is dropped at once frees its memory
// for the next parts, and leaves other blocks in the cache.
void TableFile::drop_behind(dataset::ReadPattern& pattern, std::uint64_t begin) const {
  constexpr std::uint64_t kBehind = dataset::ReadPattern::kReorder;
  if (begin < kBehind) return;
  const auto [first, last] = pattern.claim_behind(part_at(begin - kBehind));
  for (std::uint64_t i = first; i < last; ++i) {
    const Part passed = part(i);
    blocks_->cache().erase({blocks_->id(), passed.rows, passed.row});
  }
}

Status TableFile::read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
                       dataset::Pieces& out) const {
  if (offset >= size()) return {};
  const bool forward = access.pattern != nullptr && access.pattern->note(offset, length);
  const std::uint64_t end = offset + std::min(size() - offset, length), parts_end = size() - trailer_bytes();
  if (offset < header_->size()) add_text(header_, offset, end - offset, out);
  const std::uint64_t begin = std::max(offset, header_bytes()), stop = std::min(end, parts_end);
  if (begin < stop) H5_TRY(read_parts(begin - header_bytes(), stop - header_bytes(), forward, access, out));
  if (end > parts_end) {
    const std::uint64_t from = std::max(offset, parts_end);
    add_text(trailer_, from - parts_end, end - from, out);
  }
  return {};
}

Status TableFile::read_parts(std::uint64_t begin, std::uint64_t stop, bool forward,
                             dataset::ReadAccess access, dataset::Pieces& out) const {
  const std::uint64_t first = part_at(begin), last = part_at(stop - 1);
  if (forward) {
    drop_behind(*access.pattern, begin);
    read_ahead(*access.pattern, last);
  }
  std::vector<Result<cache::BlockPtr>> blocks(static_cast<std::size_t>(last - first + 1));
  const auto load = [&](std::size_t i) { blocks[i] = block(part(first + i), access.budget); };
  if (blocks.size() > 1 && source_.environment.workers && together(part(last).bytes))
    source_.environment.workers->for_each_index(blocks.size(), load);
  else
    for (std::size_t i = 0; i < blocks.size(); ++i) load(i);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Part which = part(first + i);
    const std::uint64_t from = std::max(begin, which.offset) - which.offset;
    const std::uint64_t to = std::min(stop, which.offset + which.bytes) - which.offset;
    if (blocks[i])
      out.add(
          (*blocks[i])->bytes().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)),
          *blocks[i]);
    else if (is_passing(blocks[i].error()))
      return fail(blocks[i].error());
    else
      H5_TRY(read_damaged(which, from, to, std::move(blocks[i]).error(), access.budget, out));
  }
  return {};
}

std::uint64_t TableFile::same_rows(const TableFile& before, std::span<const dataset::ByteRange> stale) const {
  if (before.table_.row_bytes != table_.row_bytes || before.rows_per_block_ != rows_per_block_ ||
      *before.header_ != *header_)
    return 0;
  std::uint64_t rows = std::min(before.table_.rows, table_.rows);
  for (const dataset::ByteRange& range : stale)
    if (range.end > range.begin) rows = std::min(rows, range.begin / table_.row_bytes);
  return rows;
}

}  // namespace h5mount::view
