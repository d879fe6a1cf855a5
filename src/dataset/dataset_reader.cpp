#include "h5mount/dataset/dataset_reader.h"

#include <algorithm>
#include <cstring>

#include "chunked_reader.h"
#include "growth.h"
#include "simple_readers.h"
#include "sparse_reader.h"
#include "virtual_nesting.h"
#include "virtual_reader.h"

namespace h5mount::dataset {

Result<std::shared_ptr<const DatasetReader>> DatasetReader::open(const ReadEnvironment& environment,
                                                                 object::OpenedFilePtr file,
                                                                 object::DatasetDescription d) {
  RequestBudget budget;
  return open_first(environment, std::move(file), std::move(d), budget);
}

Result<std::shared_ptr<const DatasetReader>> DatasetReader::open_first(const ReadEnvironment& environment,
                                                                       object::OpenedFilePtr file,
                                                                       object::DatasetDescription d,
                                                                       RequestBudget& budget) {
  if (d.layout.cls != format::LayoutClass::Virtual && d.image_bytes == 0)
    return open_unallocated_reader(std::move(d));
  switch (d.layout.cls) {
    case format::LayoutClass::Compact:
      return open_compact_reader(std::move(d));
    case format::LayoutClass::Contiguous:
      return d.external.empty() ? open_contiguous_reader(file, std::move(d))
                                : open_external_reader(environment, file, std::move(d));
    case format::LayoutClass::Chunked:
      return ChunkedReader::open(environment, std::move(file), std::move(d));
    case format::LayoutClass::Virtual:
      return VirtualReader::open(environment, std::move(file), std::move(d), nullptr, budget);
    case format::LayoutClass::Structured:
      return SparseReader::open(environment, std::move(file), std::move(d));
  }
  return fail(Error(ErrorCode::UnsupportedFeature, "DataLayout", "class", d.address));
}

Status DatasetReader::read_chunk(std::uint64_t, std::uint64_t, std::uint64_t, Pieces&, RequestBudget&) const {
  return fail({ErrorCode::UnsupportedFeature, "a dataset without chunks"});
}

namespace {

constexpr std::uint64_t kStepsPerRun = 128;  // about the time of a read from memory
constexpr std::uint64_t kMaxGap = 4U << 10;  // bytes between runs that cost less to read than to skip
constexpr std::uint64_t kMaxWindow = 256U
                                     << 10;  // bytes of several runs and their gaps that are read at once

// How many runs, from the first on, fit in one window.
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

Result<NextReader> DatasetReader::open_next(const ReadEnvironment& environment, object::OpenedFilePtr file,
                                            object::DatasetDescription d,
                                            const std::shared_ptr<const DatasetReader>& previous,
                                            RequestBudget& budget) {
  if (previous != nullptr)
    return previous->open_next_state(environment, std::move(file), std::move(d), budget);
  H5_ASSIGN(auto first, open_first(environment, std::move(file), std::move(d), budget));
  return NextReader{std::move(first)};
}

Result<NextReader> DatasetReader::open_next_state(const ReadEnvironment& environment,
                                                  object::OpenedFilePtr file, object::DatasetDescription next,
                                                  RequestBudget& budget) const {
  const bool stays =
      size() == 0 || (grew_at_end(description_, next) && next.layout.cls == format::LayoutClass::Contiguous &&
                      next.layout.address == description_.layout.address);
  H5_ASSIGN(auto reader, open_first(environment, std::move(file), std::move(next), budget));
  NextReader out{std::move(reader)};
  if (!stays) out.stale = {kWholeImage};
  return out;
}

}  // namespace h5mount::dataset
