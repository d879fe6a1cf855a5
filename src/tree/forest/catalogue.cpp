#include "catalogue.h"

#include <algorithm>
#include <array>

#include "../core/open_files.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/utf8.h"
#include "h5mount/view/parquet_rows.h"
#include "h5mount/view/view.h"

namespace h5mount::tree {

namespace {

using view::ParquetRows;

constexpr std::uint64_t kMostBytesOfRead = 1U << 20;

// Appends the bytes [offset, offset + length), cut at the end and at a MiB.
Status read_spool(const Spool& text, std::uint64_t offset, std::uint64_t length, dataset::Pieces& out) {
  std::string bytes;
  H5_TRY(text.read(offset, std::min(length, kMostBytesOfRead), bytes));
  view::add_text(std::make_shared<const std::string>(std::move(bytes)), 0, length, out);
  return {};
}

// The lines of all files, made only as far as they are read.
class OpenLines final : public OpenWithoutHoles {
 public:
  OpenLines(const ForestOptions& options, ForestDirectoryPtr top, CatalogueProgress& progress)
      : walk_(options, std::move(top), progress) {}

  bool keeps_pages() const override { return false; }
  bool direct() const override { return true; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out,
              RequestBudget& budget) override {
    constexpr std::uint64_t kAtOnce = 64U << 10;  // then the reader has something to begin with
    const std::uint64_t wanted = offset + std::min({length, kAtOnce, ~offset});
    for (;;) {
      std::shared_ptr<Step> step;
      {
        const MutexLock lock(mutex_);
        if (ended_ || made_ >= wanted) break;
        if (!step_) step_ = std::make_shared<Step>();
        step = step_;
      }
      H5_ASSIGN(const Made now, step->get([&] { return make_more(budget); }, budget));
      const MutexLock lock(mutex_);
      if (step_ != step) continue;
      step_ = nullptr;
      made_ = now.size;
      ended_ = now.last;
    }
    const std::uint64_t end = size();
    const MutexLock lock(text_mutex_);
    return read_spool(text_, offset, std::min(length, end - std::min(offset, end)), out);
  }

 private:
  struct Made {
    std::uint64_t size = 0;
    bool last = false;
  };
  using Step = OnceValue<Made>;

  std::uint64_t size() const override {
    const MutexLock lock(mutex_);
    return made_;
  }

  // Adds the next file. Called by one thread at a time.
  Result<Made> make_more(RequestBudget& budget) {
    if (broken_) return fail(*broken_);
    H5_ASSIGN(const bool more, walk_.next(file_, budget));
    if (!more) return Made{text_size(), true};
    const Status added = add_lines();
    if (!added) broken_ = added.error();  // a part of the file's lines may be there
    H5_TRY(added);
    return Made{text_size(), false};
  }
  Status add_lines() {
    return file_.rows.for_each([&](const CatalogueRow& row) -> Status {
      const std::string line = row_line(file_.path, row);
      const MutexLock lock(text_mutex_);
      return text_.append(line);
    });
  }
  std::uint64_t text_size() {
    const MutexLock lock(text_mutex_);
    return text_.size();
  }

  CatalogueWalk walk_;  // these three belong to the step that is being made
  CatalogueWalk::File file_;
  std::optional<Error> broken_;
  Mutex text_mutex_;
  Spool text_ H5_GUARDED_BY(text_mutex_);
  mutable Mutex mutex_;
  std::shared_ptr<Step> step_ H5_GUARDED_BY(mutex_);
  std::uint64_t made_ H5_GUARDED_BY(mutex_) = 0;
  bool ended_ H5_GUARDED_BY(mutex_) = false;
};

const std::vector<ParquetRows::Column>& table_columns() {
  using enum ParquetRows::Kind;
  static const std::vector<ParquetRows::Column> columns = {
      {"file", Text},   {"path", Text},    {"kind", Text},       {"shape", Text}, {"dtype", Text},
      {"size", Number}, {"mtime", Number}, {"attributes", Text}, {"value", Text}, {"error", Text}};
  return columns;
}

Status add_rows(const CatalogueWalk::File& file, ParquetRows& rows) {
  // Parquet's texts are UTF-8: other bytes are written as JSON writes them.
  const auto utf8_text = [](std::string_view text) { return escape_invalid_utf8(text, "\\udc{:02x}"); };
  const std::string path = utf8_text(file.path);
  return file.rows.for_each([&](const CatalogueRow& row) {
    const auto text = [](const std::string& bytes) {
      return bytes.empty() ? ParquetRows::Cell() : ParquetRows::Cell(std::string_view(bytes));
    };
    const auto number = [](std::int64_t value) {
      return value == CatalogueRow::kNone ? ParquetRows::Cell() : ParquetRows::Cell(value);
    };
    const std::string own = utf8_text(row.path), dtype = utf8_text(row.dtype), error = utf8_text(row.error);
    const std::array<ParquetRows::Cell, 10> cells = {
        text(path),       text(own),         text(row.kind),       text(row.shape), text(dtype),
        number(row.size), number(row.mtime), text(row.attributes), text(row.value), text(error)};
    return rows.add(cells);
  });
}

// Counts a pass as long as it runs.
class CountedPass {
 public:
  CountedPass(CatalogueProgress& progress, std::uint64_t files) : progress_(progress), files_(files) {
    ++progress_.running;
    progress_.of_files += files_;
  }
  ~CountedPass() {
    --progress_.running;
    progress_.of_files -= files_;
    progress_.files -= told_;
  }
  CountedPass(const CountedPass&) = delete;
  CountedPass& operator=(const CountedPass&) = delete;
  void told_one() { ++told_, ++progress_.files; }

 private:
  CatalogueProgress& progress_;
  const std::uint64_t files_;
  std::uint64_t told_ = 0;
};

}  // namespace

std::shared_ptr<OpenNode> Catalogue::open_lines() {
  return std::make_shared<OpenLines>(options_, top_, progress_);
}

Result<Catalogue::Image> Catalogue::make_parquet(RequestBudget& budget) {
  note_long_work();
  H5_ASSIGN(const CatalogueWalk::Survey survey, CatalogueWalk::survey(top_, budget));
  if (Image before = known(); before && before->digest == survey.digest) return before;
  CatalogueWalk walk(options_, top_, progress_);
  CountedPass pass(progress_, survey.files);
  const auto image = std::make_shared<Table>();
  image->digest = survey.digest;
  ParquetRows rows(table_columns(), [&](std::string_view bytes) { return image->bytes.append(bytes); });
  CatalogueWalk::File file;
  for (;;) {
    H5_ASSIGN(const bool more, walk.next(file, budget));
    if (!more) break;
    H5_TRY(add_rows(file, rows));
    pass.told_one();
  }
  H5_TRY(rows.finish());
  if (walk.met_momentary()) image->digest = 0;  // only for those who have opened it now
  return image;
}

Result<Catalogue::Image> Catalogue::parquet(RequestBudget& budget) {
  constexpr std::uint64_t kMostKept = 256U << 20;
  std::shared_ptr<OnceValue<Image>> making;
  {
    const MutexLock lock(mutex_);
    making = making_.lock();
    if (!making) making_ = making = std::make_shared<OnceValue<Image>>();
  }
  H5_ASSIGN(const Image image, making->get([&] { return make_parquet(budget); }, budget));
  const MutexLock lock(mutex_);
  if (making_.lock() == making) making_.reset();  // a later opening surveys the files again
  newest_ = image;
  kept_ = image->bytes.size() <= kMostKept ? image : nullptr;
  return image;
}

// The kernel keeps pages by the file's name, so only one state of it at a time may have any.
Result<std::shared_ptr<OpenNode>> Catalogue::open_parquet(RequestBudget& budget) {
  H5_ASSIGN(Image image, parquet(budget));
  const MutexLock lock(mutex_);
  const Image other = cached_.lock();
  const bool cached = !other || other == image || other->readers == 0;
  if (cached) cached_ = image;
  ++image->readers;
  const Image opened(image.get(), [image](const Table*) { --image->readers; });
  const auto read = [opened](std::uint64_t offset, std::uint64_t length, dataset::Pieces& out) {
    return read_spool(opened->bytes, offset, length, out);
  };
  return open_text(image->bytes.size(), read, cached);
}

Catalogue::Image Catalogue::known() const {
  const MutexLock lock(mutex_);
  return newest_.lock();
}

Result<std::uint64_t> Catalogue::parquet_size(RequestBudget& budget) {
  Image image = known();
  if (!image || image->readers == 0) {
    H5_ASSIGN(image, parquet(budget));
  }
  return image->bytes.size();
}

std::uint64_t Catalogue::known_parquet_size() const {
  const Image image = known();
  return image ? image->bytes.size() : 0;
}

}  // namespace h5mount::tree
