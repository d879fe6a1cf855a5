#include "h5mount/dataset/dataset_reader.h"

#include <algorithm>
#include <cstring>

#include "h5mount/base/checked.h"
#include "h5mount/cache/block_cache.h"

namespace h5mount::dataset {

Status DatasetReader::read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const {
  if (offset >= size() || length == 0) return {};
  auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(std::min(length, size() - offset)));
  H5_TRY(read_into(offset, block->bytes(), access.budget));
  out.add(block->bytes(), block);
  return {};
}

Status DatasetReader::check_inside(std::uint64_t offset, std::uint64_t length) const {
  if (range_within(offset, length, size())) return {};
  return fail(Error(ErrorCode::OutOfRange, "Dataset", "image", offset).with_found(length));
}

Result<std::uint64_t> DatasetReader::find_data(std::uint64_t offset, RequestBudget&) const {
  if (offset < size()) return offset;
  return fail({ErrorCode::NotFound, "no data after this offset"});
}

Result<std::uint64_t> DatasetReader::find_hole(std::uint64_t offset, RequestBudget& budget) const {
  H5_TRY(DatasetReader::find_data(offset, budget));
  return size();
}

Status DatasetReader::read_chunk(std::uint64_t, std::uint64_t, std::uint64_t, Pieces&, RequestBudget&) const {
  return fail({ErrorCode::UnsupportedFeature, "a dataset without chunks"});
}

namespace {

constexpr std::uint64_t kStepsPerRun = 128;  // about the time of a read from memory
constexpr std::uint64_t kMaxGap = 4U << 10;  // bytes between runs that cost less to read than to skip
// The largest number of bytes that are read at once for several runs and the gaps between them.
constexpr std::uint64_t kMaxWindow = 256U << 10;

// The number of runs, from the first on, that fit in one window.
std::size_t runs_in_window(std::span<const ByteRun> runs) {
  std::size_t count = 1;
  while (count < runs.size()) {
    const std::uint64_t end = runs[count - 1].offset + runs[count - 1].bytes;
    if (runs[count].offset < end || runs[count].offset - end > kMaxGap ||
        runs[count].offset + runs[count].bytes - runs[0].offset > kMaxWindow)
      break;
    ++count;
  }
  return count;
}

}  // namespace

Status DatasetReader::read_runs(std::span<const ByteRun> runs, MutableByteSpan out,
                                RequestBudget& budget) const {
  std::vector<std::byte> window;
  while (!runs.empty()) {
    H5_TRY(budget.spend(kStepsPerRun));
    const std::size_t count = runs_in_window(runs);
    const ByteRun& last = runs[count - 1];
    if (count == 1) {
      H5_TRY(read_into(last.offset, out.first(static_cast<std::size_t>(last.bytes)), budget));
      out = out.subspan(static_cast<std::size_t>(last.bytes));
    } else {
      window.resize(static_cast<std::size_t>(last.offset + last.bytes - runs[0].offset));
      H5_TRY(read_into(runs[0].offset, window, budget));
      for (const ByteRun& run : runs.first(count)) {
        std::memcpy(out.data(), window.data() + (run.offset - runs[0].offset), run.bytes);
        out = out.subspan(static_cast<std::size_t>(run.bytes));
      }
    }
    runs = runs.subspan(count);
  }
  return {};
}

}  // namespace h5mount::dataset
