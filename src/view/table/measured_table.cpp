// Rows of different lengths: one parallel pass measures them.
#include <algorithm>
#include <atomic>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/log.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/text/text_bounds.h"
#include "table_file.h"

namespace h5mount::view {

namespace {

// The most damaged parts of a block; everything after the last of them counts as damaged.
constexpr std::size_t kMaxDamagedParts = 128;
// The most failed reads of a block that is halved to find its unreadable rows.
constexpr std::size_t kMaxFailedReads = 64;
constexpr std::uint64_t kBlocksAtOnce = 64U << 10;
// Steps for a block, in addition to those for its rows and its text: it is looked up, and its measure is
// kept.
constexpr std::uint64_t kStepsPerBlock = 2048;

class MeasuredTable final : public RowsFile {
 public:
  MeasuredTable(ViewInput source, Table table, RowTextPtr text)
      : RowsFile(std::move(source), std::move(table), std::move(text)) {}

  std::uint64_t size() const override { return header_bytes() + text_bytes(); }

  Status measure(const MeasuredTable* before, std::span<const dataset::ByteRange> stale,
                 RequestBudget& budget) {
    H5_TRY(check_extent());
    if (before != nullptr) take_over(*before, stale);
    const std::uint64_t first = parts_.empty() ? 0 : parts_.back().row + parts_.back().rows;
    Pass pass{.rows = table().rows - first,
              .most = max_variable_text(source()),
              .budget = budget,
              .done = {},
              .bytes = {},
              .mutex = {}};
    const std::uint64_t blocks = divide_up(table().rows - first, rows_per_block());
    for (std::uint64_t done = 0; done < blocks; done += kBlocksAtOnce)
      H5_TRY(measure_blocks(first + done * rows_per_block(), std::min(blocks - done, kBlocksAtOnce), pass));
    return {};
  }

  Result<std::uint64_t> row_offset(std::uint64_t row, RequestBudget& budget) const override {
    const auto after = std::ranges::upper_bound(parts_, row, {}, &Part::row);
    if (after == parts_.begin() || row >= table().rows) return size();
    const Part& part = *std::prev(after);
    const std::uint64_t begin = header_bytes() + part.offset;
    if (part.damaged || row == part.row) return begin;
    std::string before;
    H5_TRY(render(part.row, row, before, budget));
    return begin + before.size();
  }

  // The rows after those that the two files have in common.
  std::vector<dataset::ByteRange> stale_since(const ComputedFile& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    const auto* other = dynamic_cast<const MeasuredTable*>(&before);
    if (other == nullptr) return {{0, format::kUnlimited}};
    const std::uint64_t same = same_rows(*other, stale);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < std::min(parts_.size(), other->parts_.size()); ++i) {
      if (parts_[i].row + parts_[i].rows > same || parts_[i] != other->parts_[i]) break;
      bytes = header_bytes() + parts_[i].offset + parts_[i].bytes;
    }
    return {{bytes, format::kUnlimited}};
  }

 private:
  struct Pass {
    std::uint64_t rows, most;
    RequestBudget& budget;
    std::atomic<std::uint64_t> done, bytes;
    Mutex mutex;
    std::optional<Error> error H5_GUARDED_BY(mutex) = {};
    std::time_t reported H5_GUARDED_BY(mutex) = std::time(nullptr);
  };

  // Measures blocks from a row on. Only a few at a time: the measures of each take memory until they are in
  // order.
  Status measure_blocks(std::uint64_t first, std::uint64_t count, Pass& pass) {
    std::vector<std::vector<Part>> blocks(static_cast<std::size_t>(count));
    const auto job = [&](std::size_t i) { blocks[i] = measure_block(first + i * rows_per_block(), pass); };
    if (source().environment.workers && together(table().row_bytes))
      source().environment.workers->for_each_index(blocks.size(), job);
    else
      for (std::size_t i = 0; i < blocks.size(); ++i) job(i);
    if (const auto failure = first_error(pass)) return fail(*failure);
    for (const std::vector<Part>& block : blocks)
      for (Part part : block) {
        part.offset = text_bytes();
        parts_.push_back(part);
      }
    return {};
  }

  std::uint64_t part_count() const override { return parts_.size(); }
  Part part(std::uint64_t index) const override { return parts_[static_cast<std::size_t>(index)]; }
  std::uint64_t part_at(std::uint64_t offset) const override {
    const auto after = std::ranges::upper_bound(parts_, offset, {}, &Part::offset);
    return static_cast<std::uint64_t>(after - parts_.begin()) - 1;
  }
  std::uint64_t text_bytes() const { return parts_.empty() ? 0 : parts_.back().offset + parts_.back().bytes; }

  Status check_extent() const {
    const object::DatasetDescription& dataset = source().reader->description();
    const std::uint64_t elements = dataset.element_size == 0 ? 0 : dataset.image_bytes / dataset.element_size;
    if (least_row_text() > kMaxRowText)
      return fail({ErrorCode::TooLarge, "rows of a table with too much text"});
    const auto cells = checked_mul(table().rows, table().columns.size());
    if (cells && std::max(elements, *cells) <= limits::kMaxTextElements) return {};
    return fail(Error(ErrorCode::TooLarge, "too many values to be shown as text").with_found(elements));
  }

  // The least text that each row has according to the columns' types: arrays can repeat long names.
  std::uint64_t least_row_text() const {
    std::uint64_t bytes = 0;
    for (const Column& column : table().columns) {
      bytes += std::min<std::uint64_t>(kMaxRowText + 1, text::value_text_bounds(*column.type, {}, {}).least);
      if (bytes > kMaxRowText) break;
    }
    return bytes;
  }

  // The length of a row that holds only the fill value, if none of these rows is allocated.
  std::optional<std::uint64_t> unallocated_row_bytes(std::uint64_t row, std::uint64_t rows,
                                                     RequestBudget& budget) {
    const auto data = source().reader->find_data(row * table().row_bytes, budget);
    const bool hole =
        data ? *data >= (row + rows) * table().row_bytes : data.error().code() == ErrorCode::NotFound;
    if (!hole) return std::nullopt;
    const auto measure = [&]() -> Result<std::uint64_t> {
      std::string text;
      H5_TRY(render(row, row + 1, text, budget));
      return text.size();
    };
    const auto bytes = fill_row_.get(measure, budget);
    return bytes ? std::optional(*bytes) : std::nullopt;
  }

  // Takes over whole blocks of rows that are equal; the last one continues to grow.
  void take_over(const MeasuredTable& before, std::span<const dataset::ByteRange> stale) {
    const std::uint64_t same = same_rows(before, stale) / rows_per_block() * rows_per_block();
    for (const Part& part : before.parts_) {
      if (part.row + part.rows > same) break;
      parts_.push_back(part);
    }
    while (!parts_.empty() && (parts_.back().row + parts_.back().rows) % rows_per_block() != 0)
      parts_.pop_back();
    if (same_rows(before, stale) == before.table().rows) share_blocks(before);
  }

  std::vector<Part> measure_block(std::uint64_t row, Pass& pass) {
    if (first_error(pass)) return {};
    if (Status goes_on = pass.budget.spend(kStepsPerBlock); !goes_on)
      return note_error(goes_on.error(), pass), std::vector<Part>();
    const std::uint64_t rows = std::min(rows_per_block(), table().rows - row);
    std::vector<Part> parts;
    std::string text;
    const auto fill_bytes = unallocated_row_bytes(row, rows, pass.budget);
    if (fill_bytes && *fill_bytes <= kMaxBlockText / rows) {
      parts.push_back({row, rows, 0, *fill_bytes * rows, false});
    } else if (const Status done = render(row, row + rows, text, pass.budget)) {
      parts.push_back({row, rows, 0, text.size(), false});
      // The first blocks are kept for the reader as long as they leave most of the cache to the dataset.
      if (pass.bytes + text.size() <= source().environment.cache->budget() / 4) keep(parts[0], text);
    } else if (done.error().code() == ErrorCode::Stale || is_passing(done.error()) || may_be_torn()) {
      note_error(done.error(), pass);
    } else {
      std::string().swap(text);  // the rows one by one take as much
      parts = split(row, row + rows, pass);
    }
    for (const Part& part : parts) pass.bytes += part.bytes;
    if (pass.bytes > pass.most)
      note_error({ErrorCode::TooLarge, "more text than a file of this size can sensibly have"}, pass);
    report(pass, rows);
    return parts;
  }

  // A structure that is being written is read again; it does not count as damaged.
  bool may_be_torn() const { return source().values.file && source().values.file->following(); }

  static std::optional<Error> first_error(Pass& pass) {
    const MutexLock lock(pass.mutex);
    return pass.error;
  }

  static void note_error(Error error, Pass& pass) {
    const MutexLock lock(pass.mutex);
    if (!pass.error) pass.error = std::move(error);
  }

  void report(Pass& pass, std::uint64_t rows) const {
    constexpr std::time_t kInterval = 5;  // seconds
    const std::uint64_t done = pass.done += rows;
    const std::time_t now = std::time(nullptr);
    const MutexLock lock(pass.mutex);
    if (now - pass.reported < kInterval) return;
    pass.reported = now;
    log(LogLevel::Info, "table of the dataset at {:#x}: {} of {} rows measured",
        source().reader->description().address, done, pass.rows);
  }

  // The number of rows of a chunk if the rows of a chunk can only be read together; else nullopt.
  std::optional<std::uint64_t> chunk_rows() const {
    const object::DatasetDescription& dataset = source().reader->description();
    const bool chunked = dataset.layout.cls == format::LayoutClass::Chunked;
    if (!chunked || dataset.layout.chunk_dims.empty()) return std::nullopt;
    return dataset.layout.chunk_dims[0];
  }

  static void add_rows(std::vector<Part>& parts, Part next) {
    const bool joins = !parts.empty() && parts.back().damaged == next.damaged &&
                       (next.damaged || parts.back().bytes + next.bytes <= kMaxBlockText);
    if (!joins) return parts.push_back(next);
    parts.back().rows += next.rows;
    parts.back().bytes += next.bytes;
  }

  // A row of a damaged part counts as one byte for each column.
  void add_damaged(std::vector<Part>& parts, std::uint64_t row, std::uint64_t rows) const {
    add_rows(parts, {row, rows, 0, rows * table().columns.size(), true});
  }

  // The parts of a block with unreadable rows.
  struct Split {
    Pass& pass;
    std::vector<Part> parts = {};
    std::size_t failed = 0;  // attempts to read some rows
    std::vector<std::byte> rows = {};
    std::string text = {};

    bool too_many() const {
      return parts.size() >= kMaxDamagedParts &&
             static_cast<std::size_t>(std::ranges::count(parts, true, &Part::damaged)) >= kMaxDamagedParts;
    }
  };

  // Separates readable from unreadable rows: by chunks, else by halves.
  std::vector<Part> split(std::uint64_t first, std::uint64_t last, Pass& pass) const {
    Split out{pass};
    const std::optional<std::uint64_t> unit = chunk_rows();
    for (std::uint64_t row = first, end = 0; row < last; row = end) {
      end = unit ? std::min(last, checked_add(row / *unit * *unit, *unit).value_or(last)) : last;
      split_rows(row, end, !unit, out);
      if (Status goes_on = pass.budget.check(); !goes_on)
        return note_error(goes_on.error(), pass), std::move(out.parts);
    }
    return std::move(out.parts);
  }

  void split_rows(std::uint64_t first, std::uint64_t last, bool halve, Split& out) const {
    if (out.too_many()) return add_damaged(out.parts, first, last - first);
    const Status loaded = load_rows(first, last, out.rows, out.pass.budget);
    if (loaded) return add_loaded(first, last, out);
    if (is_passing(loaded.error())) note_error(loaded.error(), out.pass);
    if (!halve || last - first == 1 || ++out.failed > kMaxFailedReads)
      return add_damaged(out.parts, first, last - first);
    const std::uint64_t middle = first + (last - first) / 2;
    split_rows(first, middle, halve, out);
    split_rows(middle, last, halve, out);
  }

  // Adds rows one by one, because the values of some may be unreadable.
  void add_loaded(std::uint64_t first, std::uint64_t last, Split& out) const {
    const std::byte* at = out.rows.data();
    for (std::uint64_t i = first; i < last; ++i, at += table().row_bytes) {
      if (out.text.capacity() > kMaxBlockText) std::string().swap(out.text);
      out.text.clear();
      if (!out.too_many() && text_of(at, out))
        add_rows(out.parts, {i, 1, 0, out.text.size(), false});
      else
        add_damaged(out.parts, i, 1);
    }
  }

  bool text_of(const std::byte* row, Split& out) const {
    const Status rendered = render_loaded(row, 1, out.text, out.pass.budget);
    if (!rendered && is_passing(rendered.error())) note_error(rendered.error(), out.pass);
    return rendered.has_value();
  }

  std::vector<Part> parts_;
  OnceValue<std::uint64_t> fill_row_;  // bytes of its text
};

}  // namespace

Result<ComputedFilePtr> measure_table(ViewInput source, Table table, RowTextPtr text, const Earlier& before,
                                      RequestBudget& budget) {
  if (auto problem = source.reader->problem()) return fail(*std::move(problem));
  auto file = std::make_shared<MeasuredTable>(std::move(source), std::move(table), std::move(text));
  H5_TRY(file->measure(dynamic_cast<const MeasuredTable*>(before.file), before.stale, budget));
  return file;
}

}  // namespace h5mount::view
