// DatasetReader: reads a byte range of a dataset's row-major image as pieces of memory, whatever its storage:
// compact, contiguous, external, chunked, virtual, sparse; unwritten parts are the fill value. Readers are
// made by dataset/open_dataset.h.
//
// The access pattern of an open file (ReadPattern) determines how a chunked dataset is read: a forward reader
// is served from row blocks (all workers decode the chunks of a row of chunks once into image order, and the
// next row blocks ahead of the reader), a random one from single chunks. Threads: any function from any
// thread; no lock is held while reading or decoding.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "h5mount/base/request_budget.h"
#include "h5mount/dataset/pieces.h"
#include "h5mount/dataset/read_pattern.h"
#include "h5mount/object/file_set.h"
#include "h5mount/object/object.h"

namespace h5mount::dataset {

struct ReadEnvironment;  // dataset/open_dataset.h

// A sparse dataset as the list of its defined elements, in row-major order of the dataset.
class SparseForm {
 public:
  virtual ~SparseForm() = default;
  // The number of defined elements; the first call decodes the selection of every chunk.
  virtual Result<std::uint64_t> count(RequestBudget& budget) const = 0;
  // Reads bytes of the lists: coordinates are `rank` little-endian u64 per element, values are elements as
  // stored.
  virtual Status read_coordinates(std::uint64_t offset, std::uint64_t length, Pieces& out,
                                  RequestBudget& budget) const = 0;
  virtual Status read_values(std::uint64_t offset, std::uint64_t length, Pieces& out,
                             RequestBudget& budget) const = 0;
};

// A file named by a virtual dataset, or by one whose raw data are in other files.
struct NamedFile {
  enum class State : std::uint8_t { Found, Missing, Refused };
  std::string file;
  std::string dataset = {};  // empty: raw data
  State state = State::Found;
  // For names with %b: how many sources exist, counted from 0 on; `file` and `dataset` are then the patterns.
  std::optional<std::uint64_t> numbered = {};
  std::string reason = {};  // why it is missing, refused or unreadable; else empty

  // A source that could not be opened.
  static NamedFile of(std::string file, std::string dataset, const Error& why) {
    const State state = why.code() == ErrorCode::NotFound       ? State::Missing
                        : why.code() == ErrorCode::AccessDenied ? State::Refused
                                                                : State::Found;
    return {std::move(file), std::move(dataset), state, std::nullopt, why.text()};
  }
};
struct NamedSources {
  std::vector<NamedFile> list;
  std::uint64_t left_out = 0;  // number of sources beyond the caller's bound
};

// Sources that were needed so far and do not exist; reads of them return the fill value.
struct MissingSources {
  std::uint64_t count = 0;
  std::string first;  // "file:dataset"
};

using ByteRange = h5mount::ByteRange;

// The stale range if it is not known which bytes are stale.
inline constexpr ByteRange kWholeImage{0, format::kUnlimited};

// A range of consecutive bytes of an image.
struct ByteRun {
  std::uint64_t offset = 0, bytes = 0;
};

// Adjacent bytes that a source stores as they are in the image.
struct StoredRun {
  std::shared_ptr<const io::ByteSource> source;
  std::uint64_t offset = 0, length = 0;
};

// Whether a dataset's bytes from some offset on, up to `end`, were written.
struct WrittenRun {
  std::uint64_t end = 0;
  bool written = true;  // false: nothing was ever written there, so that every element is the fill value
};

// The element that is read where nothing was ever written.
std::vector<std::byte> fill_element(const object::DatasetDescription& dataset);

class DatasetReader;
using DatasetReaderPtr = std::shared_ptr<const DatasetReader>;

// A reader of a later state, and the ranges of its image that may differ from what readers of the state
// before returned before it was opened. For callers that keep what they read.
struct NextReader {
  DatasetReaderPtr reader;
  std::vector<ByteRange> stale = {};
};

class DatasetReader {
 public:
  virtual ~DatasetReader() = default;

  // Whether a source of a virtual dataset has changed or was created, so that `open_next_dataset` returns a
  // reader of the new state. Costs a check of the sources' files, each at most once per its own interval.
  virtual bool sources_changed() const { return false; }

  const object::DatasetDescription& description() const { return description_; }
  std::uint64_t size() const { return description_.image_bytes; }

  // In the following functions `budget` is that of the request; its errors are those of `spend`.

  // Reads the bytes [offset, offset + length), cut at the image's end. The default implementation reads them
  // into new memory.
  virtual Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const;
  // Reads into memory; the range must be inside the image.
  virtual Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const = 0;
  // The place where the bytes of the image from `offset` on are stored; nullopt if they are not stored as
  // they are.
  virtual std::optional<StoredRun> stored_run(std::uint64_t offset) const {
    (void)offset;
    return std::nullopt;
  }
  // The same for those who tell others where the bytes are, and do not read them there: also in other files
  // that the dataset names. The run ends where the file does. Opens the file.
  virtual std::optional<StoredRun> stored_place(std::uint64_t offset) const { return stored_run(offset); }
  // Reads several ascending ranges into adjacent memory of their total size. Storage that holds more than one
  // of them is read and decoded once.
  virtual Status read_runs(std::span<const ByteRun> runs, MutableByteSpan out, RequestBudget& budget) const;

  // Reads the bytes [offset, offset + length) of a decoded chunk, whose number is counted row-major from 0:
  // for chunked datasets only. The range is inside the chunk, and the chunk inside the extent: the bytes of a
  // chunk beyond the extent are undefined.
  virtual Status read_chunk(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length, Pieces& out,
                            RequestBudget& budget) const;

  // Bytes of raw data that the file holds for the dataset (du). For a chunked dataset the whole index is
  // walked, once.
  virtual Result<std::uint64_t> storage_bytes(RequestBudget& /*budget*/) const {
    return storage_bytes_known().value_or(size());
  }
  // The same, if it is known or costs little; else an estimate that needs no read; nullopt if there is none.
  virtual std::optional<std::uint64_t> storage_bytes_known() const { return size(); }

  // The first byte at or after `offset` in allocated storage or in a hole, respectively, as lseek(2)
  // SEEK_DATA and SEEK_HOLE count: the end of the image is a hole. Fails with NotFound (ENXIO) if there is no
  // data after `offset`. The default is that all is data.
  virtual Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const;
  virtual Result<std::uint64_t> find_hole(std::uint64_t offset, RequestBudget& budget) const;

  // Whether the bytes from `offset` on, which is below the size, were ever written, whatever the fill value
  // is. `end` is behind `offset`; a run that is written may hold parts that are not, and adjacent runs may be
  // of the same kind.
  virtual Result<WrittenRun> written_run(std::uint64_t offset, RequestBudget& budget) const {
    (void)offset, (void)budget;
    return WrittenRun{size(), true};
  }

  // About how many bytes of memory the reader takes, without blocks in the cache; 0 if it is small.
  virtual std::size_t memory_bytes() const { return 0; }

  // Why every read would fail (a missing filter, an unknown layout), for user.hdf5.error; nullopt if reads
  // work.
  virtual std::optional<Error> problem() const { return std::nullopt; }

  // The files that the dataset names, each once, in order; the call opens them.
  virtual NamedSources named_sources(std::size_t most, RequestBudget& budget) const {
    (void)most, (void)budget;
    return {};
  }
  virtual MissingSources missing_sources() const { return {}; }

  // Null unless the dataset is sparse.
  virtual const SparseForm* sparse_form() const { return nullptr; }

  // For open_next_dataset: a reader of a later snapshot that keeps what this one has decoded; its `reader` is
  // null if nothing can be kept.
  virtual Result<NextReader> continued(const ReadEnvironment& environment, const object::OpenedFilePtr& file,
                                       const object::DatasetDescription& next, RequestBudget& budget) const {
    (void)environment, (void)file, (void)next, (void)budget;
    return NextReader{};
  }

 protected:
  explicit DatasetReader(object::DatasetDescription description) : description_(std::move(description)) {}
  // That the bytes [offset, offset + length) are inside the image.
  Status check_inside(std::uint64_t offset, std::uint64_t length) const;

 private:
  object::DatasetDescription description_;
};

}  // namespace h5mount::dataset
