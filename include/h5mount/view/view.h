// Views: datasets as the files that other programs open (.npy, CSV, TIFF and the like), computed when they
// are read. A view file is a size and a `read` of any byte range; nothing of it is stored.
//
// To add a view:
//   1. a class derived from ComputedFile in a file of its own in src/view/, which is made from one state of a
//      dataset and is immutable. `read` appends slices in order: text of its own (add_text), and pieces of
//      the dataset, which DatasetReader::read appends without a copy. What `read` looks at itself it takes
//      from DatasetReader::read_into: pieces that are `kernel_only` must not be touched.
//   2. a constant of struct View beside it, with its functions, media type and summary; its name in
//      src/view/views.h, and in the table of src/view/views.cpp.
//   3. a line in docs/promise.md and its test, and one in docs/man/h5mount-views.7.md.
// The module `tree` does the rest: the directory under /.h5 that mirrors the file's own tree, links, names,
// stat, following a file that grows, and the kernel's pages.
//
// Threads: everything is safe from any thread. Errors: those of the dataset's own bytes, for the requests
// that need them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/dataset/derivation.h"
#include "h5mount/dataset/open_dataset.h"
#include "h5mount/text/value_text.h"

namespace h5mount::view {

using DatasetReaderPtr = std::shared_ptr<const dataset::DatasetReader>;

class ComputedFile {
 public:
  virtual ~ComputedFile() = default;

  virtual std::uint64_t size() const = 0;

  // Appends the bytes [offset, offset + length), cut at the end of the file. `access` must be passed to the
  // dataset's reader.
  virtual Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
                      dataset::Pieces& out) const = 0;

  // The bytes of this file that may differ from `before`, the same view of the dataset's previous state, if
  // the bytes `stale` of the dataset's image may have changed. Bytes beyond the end of `before` need not be
  // included. The default is the whole file.
  virtual std::vector<dataset::ByteRange> stale_since(const ComputedFile& before,
                                                      std::span<const dataset::ByteRange> stale) const;

  // The reader of the image if this file is that image, byte for byte, so that it can be read without this
  // file; else null.
  virtual const dataset::DatasetReader* image() const { return nullptr; }

  // Damage that lost something beside the elements (the palette of an image), without which the file is
  // shown; null if there is none. Whoever makes the file reports it.
  virtual const Error* damage() const { return nullptr; }

  // Like lseek(2) with SEEK_DATA and SEEK_HOLE; by default there are no holes. `offset` is below the size.
  virtual Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const {
    (void)budget;
    return offset;
  }
  virtual Result<std::uint64_t> find_hole(std::uint64_t offset, RequestBudget& budget) const;
};
using ComputedFilePtr = std::shared_ptr<const ComputedFile>;

// Everything that a view file is made from.
struct ViewInput {
  DatasetReaderPtr reader;
  text::ValueEnvironment values;         // resolves what elements refer to
  dataset::ReadEnvironment environment;  // cache and workers
  object::OpenedFilePtr file;            // the dataset's file, for other objects in it
};

// The same file of the dataset's previous state, and the bytes of the dataset's image that may have changed
// since, as for ComputedFile::stale_since. Null: there was none.
struct Earlier {
  const ComputedFile* file = nullptr;
  std::span<const dataset::ByteRange> stale = {};
};

using Reason = std::optional<std::string>;
using KnownSize = std::optional<std::uint64_t>;

struct View {
  std::string_view directory = {};  // its name under /.h5; empty: only slices and fields show it
  std::string_view suffix = {};     // the end of its files' names

  // Why the view cannot show a dataset, as a short phrase; nullopt if it can. Like `size` it is charged to
  // `budget`, whose errors are the only ones: a type can name more columns than the file has bytes.
  Result<Reason> (*unfit)(const object::DatasetDescription& dataset, RequestBudget& budget) =
      [](const object::DatasetDescription&, RequestBudget&) -> Result<Reason> { return std::nullopt; };
  // The exact size if shape and type determine it; nullopt if `make` must determine it.
  Result<KnownSize> (*size)(const object::DatasetDescription& dataset, RequestBudget& budget) =
      [](const object::DatasetDescription&, RequestBudget&) -> Result<KnownSize> { return std::nullopt; };
  // Makes the file. A view whose size needs a pass over the data makes that pass here, and continues from
  // `before` as far as that is still valid.
  Result<ComputedFilePtr> (*make)(ViewInput source, const Earlier& before, RequestBudget& budget) = nullptr;

  // Whether the view also shows groups of equally long one-dimensional datasets, as joined datasets
  // (dataset/dataset_columns.h).
  bool of_groups = false;

  // Which form of values that elements mean the view is of (module `meaning`).
  dataset::ShownAs shown_as = dataset::ShownAs::Bytes;

  // Whether its files say where maps are (DatasetDescription::placement).
  bool shows_places = false;

  std::string_view media_type = "application/octet-stream";  // of its files, as HTTP names it
  std::string_view summary = {};                             // for the mount's README
};

// All views, in the order in which they are offered. All code that names, explains or serves views uses this
// table. The stores of Zarr are in zarr.h.
std::span<const View> views();

// For parts of datasets (slices, members): the view whose suffix the name has; if there is none, the view
// with an empty suffix, which shows the elements as stored, or as text if their type has no byte form.
const View& view_by_suffix(std::string_view shown);

// The view text/.
const View& text_view();

// Appends the lowest bytes of a number, the lowest one first.
inline void append_le(std::uint64_t value, std::size_t bytes, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), bytes);
}
// Appends the bytes [offset, offset + length) of a text, cut at its end; `out` keeps the text alive.
void add_text(const std::shared_ptr<const std::string>& text, std::uint64_t offset, std::uint64_t length,
              dataset::Pieces& out);

}  // namespace h5mount::view
