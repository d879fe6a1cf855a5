// TableFile: a table as a file of parts; the worker pool renders each from some of the rows, and the block
// cache keeps it. There are two kinds of files of lines (RowsFile): if all rows have the same length, their
// offsets are computed; otherwise rows are rendered once to be measured, which leaves a checkpoint every
// 4,096 rows.
//
// Immutable once made; threads: any.
#pragma once

#include "row_text.h"

namespace h5mount::view {

// The owner of one table's text blocks in the cache. Files of later states share it as long as rows are only
// appended.
class BlockOwner {
 public:
  explicit BlockOwner(std::shared_ptr<cache::BlockCache> cache)
      : cache_(std::move(cache)), id_(cache::BlockCache::new_owner()) {}
  ~BlockOwner() { cache_->erase_owner(id_); }
  BlockOwner(const BlockOwner&) = delete;
  BlockOwner& operator=(const BlockOwner&) = delete;
  cache::BlockCache& cache() const { return *cache_; }
  std::uint64_t id() const { return id_; }

 private:
  std::shared_ptr<cache::BlockCache> cache_;
  std::uint64_t id_;
};

// The limit for the text of all variable-length values and references of a dataset together; kUnlimited if
// its type has neither.
std::uint64_t max_variable_text(const ViewInput& source);

class TableFile : public ComputedFile, public std::enable_shared_from_this<TableFile> {
 public:
  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
              dataset::Pieces& out) const final;

 protected:
  // Rows that are rendered together.
  struct Part {
    std::uint64_t row = 0, rows = 0;
    std::uint64_t offset = 0, bytes = 0;  // of their text, from the end of the header
    bool damaged = false;                 // `bytes` is then an estimate
    bool operator==(const Part&) const = default;
  };

  // `header` and `trailer`: the text before and after the parts; `row_text`: the least text that each row
  // has.
  TableFile(ViewInput source, Table table, std::string header, std::string trailer, std::size_t row_text);

  virtual std::uint64_t part_count() const = 0;
  virtual Part part(std::uint64_t index) const = 0;
  // The index of the part at `offset`, counted from the end of the header.
  virtual std::uint64_t part_at(std::uint64_t offset) const = 0;
  // The content of a part that cannot be rendered; by default the error.
  virtual Status read_damaged(const Part& part, std::uint64_t begin, std::uint64_t end, Error why,
                              RequestBudget& budget, dataset::Pieces& out) const;

  std::uint64_t rows_per_block() const { return rows_per_block_; }
  const Table& table() const { return table_; }
  const ViewInput& source() const { return source_; }
  std::uint64_t header_bytes() const { return header_->size(); }
  std::uint64_t trailer_bytes() const { return trailer_->size(); }

  // Appends the part of the rows [first, last).
  virtual Status render(std::uint64_t first, std::uint64_t last, std::string& out,
                        RequestBudget& budget) const = 0;
  // Renders a part into memory of the part's size.
  virtual Status render_part(const Part& part, MutableByteSpan out, RequestBudget& budget) const;
  Status load_rows(std::uint64_t first, std::uint64_t last, std::vector<std::byte>& out,
                   RequestBudget& budget) const;
  // Whether several threads may each have a part of that size in memory.
  bool together(std::uint64_t part_bytes) const;
  // Stores a part's text in the cache.
  void keep(const Part& part, const std::string& text) const;
  void share_blocks(const TableFile& before) { blocks_ = before.blocks_; }
  // The number of leading rows that are equal in `before`, another state of the same table.
  std::uint64_t same_rows(const TableFile& before, std::span<const dataset::ByteRange> stale) const;

 private:
  Result<cache::BlockPtr> block(const Part& part, RequestBudget& budget) const;
  // The bytes [begin, stop) of the parts.
  Status read_parts(std::uint64_t begin, std::uint64_t stop, bool forward, dataset::ReadAccess access,
                    dataset::Pieces& out) const;
  void read_ahead(dataset::ReadPattern& pattern, std::uint64_t index) const;
  void drop_behind(dataset::ReadPattern& pattern, std::uint64_t begin) const;

  const ViewInput source_;
  const Table table_;
  const std::shared_ptr<const std::string> header_, trailer_;
  const std::uint64_t rows_per_block_;
  std::shared_ptr<BlockOwner> blocks_;
};

// A file of lines.
class RowsFile : public TableFile {
 public:
  // The place where a row begins.
  virtual Result<std::uint64_t> row_offset(std::uint64_t row, RequestBudget& budget) const = 0;

 protected:
  RowsFile(ViewInput source, Table table, RowTextPtr text)
      : TableFile(std::move(source), std::move(table), text->header(), {},
                  text->row_width().value_or(text->constant_bytes())),
        text_(std::move(text)) {}

  const RowText& text() const { return *text_; }
  // Sets `out` to the text of rows that are in memory. Several rows with more than kMaxBlockText fail with
  // TooLarge; a single such row waits until no other thread renders one.
  Status render_loaded(const std::byte* rows, std::size_t count, std::string& out,
                       RequestBudget& budget) const;
  Status render(std::uint64_t first, std::uint64_t last, std::string& out, RequestBudget& budget) const final;

 private:
  const RowTextPtr text_;
};

// A table whose rows all have the same length: `text` has a row_width.
ComputedFilePtr make_padded_table(ViewInput source, Table table, RowTextPtr text);

// Renders every row once, except those whose measure `before` provides. Rows that cannot be read take some
// bytes, which cannot be read either.
Result<ComputedFilePtr> measure_table(ViewInput source, Table table, RowTextPtr text, const Earlier& before,
                                      RequestBudget& budget);

}  // namespace h5mount::view
