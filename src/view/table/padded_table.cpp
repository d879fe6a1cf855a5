// Rows that all have the same length: size and offsets are computed, and growth appends.
#include <algorithm>

#include "h5mount/base/limits.h"
#include "table_file.h"

namespace h5mount::view {

namespace {

class PaddedTable final : public RowsFile {
 public:
  PaddedTable(ViewInput source, Table table, RowTextPtr text)
      : RowsFile(std::move(source), std::move(table), std::move(text)), width_(*this->text().row_width()) {}

  std::uint64_t size() const override { return header_bytes() + table().rows * width_; }
  Result<std::uint64_t> row_offset(std::uint64_t row, RequestBudget&) const override {
    return header_bytes() + std::min(row, table().rows) * width_;
  }

  std::vector<dataset::ByteRange> stale_since(const ComputedFile& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    const auto* other = dynamic_cast<const PaddedTable*>(&before);
    if (other == nullptr || other->width_ != width_) return {{0, format::kUnlimited}};
    return {{header_bytes() + same_rows(*other, stale) * width_, format::kUnlimited}};
  }

 private:
  std::uint64_t part_count() const override { return divide_up(table().rows, rows_per_block()); }
  Part part(std::uint64_t index) const override {
    const std::uint64_t row = index * rows_per_block();
    const std::uint64_t rows = std::min(rows_per_block(), table().rows - row);
    return {row, rows, row * width_, rows * width_, false};
  }
  std::uint64_t part_at(std::uint64_t offset) const override { return offset / width_ / rows_per_block(); }

  Status render_part(const Part& part, MutableByteSpan out, RequestBudget& budget) const override {
    std::vector<std::byte> rows;
    H5_TRY(load_rows(part.row, part.row + part.rows, rows, budget));
    if (text().write_rows(rows.data(), static_cast<std::size_t>(part.rows),
                          static_cast<std::size_t>(table().row_bytes), reinterpret_cast<char*>(out.data())))
      return budget.spend(limits::kStepsPerTextByte * out.size());
    return RowsFile::render_part(part, out, budget);
  }

  // A request may not need the damaged rows of a part, so only the rows that it needs are read.
  Status read_damaged(const Part& part, std::uint64_t begin, std::uint64_t end, Error, RequestBudget& budget,
                      dataset::Pieces& out) const override {
    const std::uint64_t first = part.row + begin / width_, last = part.row + divide_up(end, width_);
    auto text = std::make_shared<std::string>();
    H5_TRY(render(first, last, *text, budget));
    add_text(text, begin % width_, end - begin, out);
    return {};
  }

  std::uint64_t width_;
};

}  // namespace

ComputedFilePtr make_padded_table(ViewInput source, Table table, RowTextPtr text) {
  return std::make_shared<PaddedTable>(std::move(source), std::move(table), std::move(text));
}

}  // namespace h5mount::view
