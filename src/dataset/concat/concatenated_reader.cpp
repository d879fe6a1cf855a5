#include "concatenated_reader.h"

#include <algorithm>
#include <cstring>

#include "../convert/element_conversion.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"
#include "h5mount/dataset/dataset_part.h"

namespace h5mount::dataset {
namespace {

// A request of more parts is read into one piece of memory, by all workers.
constexpr std::size_t kFewParts = 4;
constexpr std::size_t kMostPartRuns = 64U << 10;     // at once
constexpr std::uint64_t kStepsPerPartRun = 64;       // about the time of a read from memory
constexpr std::uint64_t kTogetherBytes = 1U << 20;   // worth waking a worker
constexpr std::uint64_t kMostAtOnce = 16U << 20;     // bytes that are gathered
constexpr std::uint64_t kAheadOfReader = 16U << 20;  // parts that begin in these are opened ahead
// What begins in these is decoded ahead: more would take the place of what is read before in the processor's
// caches.
constexpr std::uint64_t kSoonRead = 4U << 20;
constexpr std::size_t kMostPartsAhead = 4;

format::FillValue gap_value(const ConcatenatedDataset& whole) {
  return {.defined = true, .value = whole.gap_fill};
}

Status check_parts(const ConcatenatedDataset& whole) {
  const std::vector<std::uint64_t>& starts = whole.parts->starts();
  const auto& dims = whole.description.space.dims;
  if (whole.dimension < std::max<std::size_t>(dims.size(), 1) && !starts.empty() && starts.front() == 0 &&
      starts.back() == (dims.empty() ? 1 : dims[whole.dimension]) && std::ranges::is_sorted(starts) &&
      whole.description.element_size > 0)
    return {};
  return fail({ErrorCode::InvalidValue, "parts that do not make up the dataset"});
}

// Whether every part begins with a chunk.
bool parts_have_chunks(const ConcatenatedDataset& whole) {
  const format::DataLayout& layout = whole.description.layout;
  if (layout.cls != format::LayoutClass::Chunked ||
      layout.chunk_dims.size() != whole.description.space.dims.size())
    return false;
  const std::uint64_t chunk = layout.chunk_dims[whole.dimension];
  const std::vector<std::uint64_t>& starts = whole.parts->starts();
  return std::all_of(starts.begin(), starts.end() - 1,
                     [&](std::uint64_t start) { return start % chunk == 0 || start == starts.back(); });
}

}  // namespace

Result<NextReader> open_concatenated(const ReadEnvironment& environment, ConcatenatedDataset whole,
                                     const DatasetReaderPtr& previous) {
  return ConcatenatedReader::open(environment, std::move(whole), previous);
}

Result<NextReader> ConcatenatedReader::open(const ReadEnvironment& environment, ConcatenatedDataset whole,
                                            const DatasetReaderPtr& previous, std::size_t most_open) {
  H5_TRY(check_parts(whole));
  const auto* const before = dynamic_cast<const ConcatenatedReader*>(previous.get());
  const OpenParts* const open = before != nullptr ? &before->parts_ : nullptr;
  const bool chunks = whole.stored_chunks && parts_have_chunks(whole);
  const auto all = std::make_shared<const ConcatenatedDataset>(std::move(whole));
  std::shared_ptr<const ConcatenatedReader> reader;
  if (chunks)
    reader = std::make_shared<const ConcatenatedChunks>(environment, all, open, most_open);
  else
    reader = std::make_shared<const ConcatenatedReader>(environment, all, open, most_open);
  NextReader out{reader};
  if (previous != nullptr && previous->size() > 0)
    out.stale = before != nullptr ? reader->stale_since(*before) : std::vector{kWholeImage};
  return out;
}

ConcatenatedReader::ConcatenatedReader(const ReadEnvironment& environment,
                                       std::shared_ptr<const ConcatenatedDataset> whole,
                                       const OpenParts* before, std::size_t most_open)
    : DatasetReader(whole->description),
      whole_(std::move(whole)),
      starts_(whole_->parts->starts()),
      gap_(gap_value(*whole_), whole_->description.element_size),
      parts_(environment, whole_, before, most_open),
      workers_(environment.workers),
      counters_(environment.counters),
      inner_(whole_->description.element_size) {
  const auto& dims = description().space.dims;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (i != whole_->dimension) (i < whole_->dimension ? rows_ : inner_) *= dims[i];
  row_bytes_ = inner_ * starts_.back();
}

// ---- where the parts are

// Parts without places are passed over, as the next one begins at the same place.
std::size_t ConcatenatedReader::part_at(std::uint64_t place) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(starts_, place) - starts_.begin()) - 1;
}

// Splits a range at the borders of parts. Returns how many bytes these are; `out`: where the first one goes.
std::uint64_t ConcatenatedReader::split(const ByteRun& range, std::size_t out,
                                        std::vector<PartRun>& runs) const {
  std::uint64_t done = 0;
  std::uint64_t row = range.offset / row_bytes_, within = range.offset % row_bytes_;
  std::size_t part = part_at(within / inner_);
  while (done < range.bytes && runs.size() < kMostPartRuns) {
    while (begin_of(part + 1) <= within) ++part;
    const std::uint64_t bytes = std::min(range.bytes - done, begin_of(part + 1) - within);
    runs.push_back({part, row, within - begin_of(part), bytes, range.offset + done,
                    out + static_cast<std::size_t>(done)});
    done += bytes;
    within += bytes;
    if (within == row_bytes_) ++row, within = 0, part = 0;
  }
  return done;
}

// ---- reading

Status ConcatenatedReader::read(std::uint64_t offset, std::uint64_t length, ReadAccess access,
                                Pieces& out) const {
  if (offset >= size() || length == 0) return {};
  length = std::min(length, size() - offset);
  const bool forward = access.pattern != nullptr && access.pattern->note(offset, length);
  std::vector<PartRun> runs;
  if (is_outer() && split({offset, length}, 0, runs) == length && runs.size() <= kFewParts)
    for (const PartRun& run : runs) H5_TRY(read_piece(run, access, out));
  else
    H5_TRY(DatasetReader::read(offset, length, access, out));
  if (forward && is_outer()) {
    read_ahead(offset + length, *access.pattern);
    close_behind(offset, *access.pattern);
  }
  return {};
}

Status ConcatenatedReader::read_piece(const PartRun& run, ReadAccess access, Pieces& out) const {
  const auto pattern = access.pattern != nullptr ? access.pattern->of_part(run.part) : nullptr;
  Pieces pieces;
  H5_TRY(parts_.use(run.part, access.budget, [&](const OpenPartPtr& open) -> Status {
    pieces = Pieces();
    if (open->reader == nullptr) return gap_.append(run.image, run.bytes, pieces), Status();
    H5_TRY(access.budget.spend(limits::kStepsPerSourceRead));
    H5_TRY(open->reader->read(run.at, run.bytes, {pattern.get(), access.budget}, pieces));
    if (pieces.total() != run.bytes) return fail({ErrorCode::Stale, "the dataset became shorter"});
    H5_ASSIGN(pieces, passed_on(run.part, open, std::move(pieces), access.pattern));
    return {};
  }));
  out.append(std::move(pieces));
  return {};
}

// The state of a part of which mapped bytes were passed on.
class ConcatenatedReader::PassedOn final : public MappedBytes {
 public:
  PassedOn(std::shared_ptr<const ConcatenatedReader> reader, std::size_t part, OpenPartPtr open,
           Pieces pieces)
      : reader_(std::move(reader)), part_(part), open_(std::move(open)), pieces_(std::move(pieces)) {}
  Status confirm_unchanged() const override { return reader_->parts_.confirm_unchanged(part_, *open_); }

 private:
  const std::shared_ptr<const ConcatenatedReader> reader_;
  const std::size_t part_;
  const OpenPartPtr open_;
  const Pieces pieces_;  // whose owners live as long
};

Result<Pieces> ConcatenatedReader::passed_on(std::size_t part, const OpenPartPtr& open, Pieces pieces,
                                             ReadPattern* pattern) const {
  if (!pieces.kernel_only()) return pieces;
  Pieces out;
  if (pattern == nullptr) {  // nobody asks later
    const auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(pieces.total()));
    H5_TRY(copy_pieces(pieces.list(), block->bytes()));
    out.add(block->bytes(), block);
    return out;
  }
  const auto state = std::make_shared<const PassedOn>(shared_from_this(), part, open, pieces);
  pattern->note_mapped(state);
  for (const Piece& piece : pieces.list())
    if (!piece.kernel_only() ||
        !out.add_mapped(*piece.mapped_from, piece.address, piece.bytes.size(), state, state.get()))
      out.add(piece.bytes, piece.owner);
  return out;
}

Status ConcatenatedReader::read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const {
  H5_TRY(check_inside(offset, out.size()));
  std::vector<PartRun> runs;
  while (!out.empty()) {
    const std::uint64_t most = is_outer() ? out.size() : std::min<std::uint64_t>(out.size(), kMostAtOnce);
    runs.clear();
    const auto bytes = static_cast<std::size_t>(split({offset, most}, 0, runs));
    H5_TRY(read_parts(runs, out.first(bytes), budget));
    offset += bytes;
    out = out.subspan(bytes);
  }
  return {};
}

Status ConcatenatedReader::read_runs(std::span<const ByteRun> ranges, MutableByteSpan out,
                                     RequestBudget& budget) const {
  std::vector<PartRun> runs;
  std::size_t filled = 0;
  for (ByteRun range : ranges) {
    H5_TRY(check_inside(range.offset, range.bytes));
    while (range.bytes > 0) {
      const std::uint64_t bytes = split(range, filled, runs);
      range = {range.offset + bytes, range.bytes - bytes};
      filled += static_cast<std::size_t>(bytes);
      if (runs.size() < kMostPartRuns) continue;
      H5_TRY(read_parts(runs, out, budget));
      runs.clear();
    }
  }
  return read_parts(runs, out, budget);
}

// Each part once; several ones by all workers, as most of the time goes into opening them where they are
// small.
Status ConcatenatedReader::read_parts(std::vector<PartRun>& runs, MutableByteSpan out,
                                      RequestBudget& budget) const {
  H5_TRY(budget.spend(kStepsPerPartRun * runs.size()));
  if (!std::ranges::is_sorted(runs, {}, &PartRun::part))
    std::ranges::sort(runs, {}, [](const PartRun& run) { return std::pair(run.part, run.out); });
  std::vector<std::span<const PartRun>> by_part;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0, begin = 0; i < runs.size(); ++i) {
    bytes += runs[i].bytes;
    if (i + 1 < runs.size() && runs[i + 1].part == runs[i].part) continue;
    by_part.push_back(std::span(runs).subspan(begin, i + 1 - begin));
    begin = i + 1;
  }
  const bool together = by_part.size() > 2 || (by_part.size() == 2 && bytes >= kTogetherBytes);
  if (!together) {
    for (const auto& of_part : by_part) H5_TRY(read_part(of_part, out, budget));
    return {};
  }
  std::vector<Status> done(by_part.size());
  workers_->for_each_index(by_part.size(),
                           [&](std::size_t i) { done[i] = read_part(by_part[i], out, budget); });
  for (Status& status : done) H5_TRY(std::move(status));
  return {};
}

Status ConcatenatedReader::read_part(std::span<const PartRun> runs, MutableByteSpan out,
                                     RequestBudget& budget) const {
  return parts_.use(runs.front().part, budget, [&](const OpenPartPtr& open) -> Status {
    H5_TRY(budget.spend(limits::kStepsPerSourceRead));
    if (open->reader != nullptr) return copy_from(*open, runs, out, budget);
    for (const PartRun& run : runs)
      gap_.write(run.image, out.subspan(run.out, static_cast<std::size_t>(run.bytes)));
    return {};
  });
}

// Runs that are adjacent both in the part and in what is read are read as one. Where they are adjacent in
// what is read alone, they are read in place, else beside it.
Status ConcatenatedReader::copy_from(const OpenPart& open, std::span<const PartRun> runs, MutableByteSpan out,
                                     RequestBudget& budget) const {
  std::vector<ByteRun> own;
  std::uint64_t total = 0;
  bool in_place = true;
  for (const PartRun& run : runs) {
    const std::uint64_t at = run.row * open.extent * inner_ + run.at;
    in_place = in_place && run.out == runs.front().out + total;
    total += run.bytes;
    if (!own.empty() && own.back().offset + own.back().bytes == at)
      own.back().bytes += run.bytes;
    else
      own.push_back({at, run.bytes});
  }
  std::vector<std::byte> aside(in_place ? 0 : static_cast<std::size_t>(total));
  const MutableByteSpan to =
      in_place ? out.subspan(runs.front().out, static_cast<std::size_t>(total)) : MutableByteSpan(aside);
  if (own.size() == 1)
    H5_TRY(open.reader->read_into(own[0].offset, to, budget));
  else
    H5_TRY(open.reader->read_runs(own, to, budget));
  if (in_place) return {};
  std::size_t at = 0;
  for (const PartRun& run : runs) {
    std::memcpy(out.data() + run.out, aside.data() + at, static_cast<std::size_t>(run.bytes));
    at += static_cast<std::size_t>(run.bytes);
  }
  return {};
}

// ---- ahead of a reader that goes forward

// Opens the parts that begin behind `end`, and prepares what is read first of those that are read soon.
void ConcatenatedReader::read_ahead(std::uint64_t end, ReadPattern& pattern) const {
  const std::size_t current = part_at((end - 1) / inner_), count = starts_.size() - 1;
  std::size_t last = current;
  while (last + 1 < count && last - current < kMostPartsAhead && begin_of(last + 1) < end + kAheadOfReader)
    ++last;
  const auto [first, until] = pattern.claim_ahead(current, last);
  for (auto part = static_cast<std::size_t>(first); part < until; ++part) {
    if (starts_[part] == starts_[part + 1]) continue;
    workers_->submit(
        [self = shared_from_this(), part, own = pattern.of_part(part), reader_at = pattern.position()] {
          // A late job would open a part that was read already.
          const std::uint64_t at = *reader_at, begin = self->begin_of(part);
          if (at <= begin) self->begin_part(part, begin - at <= kSoonRead, *own);
        });
  }
}

// A part that was passed is not needed again: what it has decoded is memory that the next ones can use.
void ConcatenatedReader::close_behind(std::uint64_t offset, ReadPattern& pattern) const {
  if (offset < ReadPattern::kReorder) return;
  const auto [first, last] = pattern.claim_behind(part_at((offset - ReadPattern::kReorder) / inner_));
  for (std::uint64_t part = first; part < last; ++part) parts_.drop(static_cast<std::size_t>(part));
}

// Errors are dropped: a read of these bytes reports them.
void ConcatenatedReader::begin_part(std::size_t part, bool soon, ReadPattern& pattern) const {
  RequestBudget budget;
  (void)parts_.use(part, budget, [&](const OpenPartPtr& open) -> Status {
    if (open->reader == nullptr) return {};
    Counters::add(counters_->units_ahead);
    const auto stored = open->opened.reader->stored_run(0);
    if (stored && stored->source->far()) {
      const ByteRange range{stored->offset, stored->offset + std::min(stored->length, kAheadOfReader)};
      stored->source->will_read({&range, 1});
      return {};
    }
    Pieces made;
    return soon ? open->reader->read(0, 1, {&pattern, budget}, made) : Status();
  });
}

// ---- what others ask

std::optional<StoredRun> ConcatenatedReader::stored_place(std::uint64_t offset) const {
  if (offset >= size() || !is_outer()) return std::nullopt;
  std::vector<PartRun> runs;
  split({offset, 1}, 0, runs);
  const PartRun& run = runs.front();
  std::optional<StoredRun> out;
  RequestBudget budget;
  const Status done = parts_.use(run.part, budget, [&](const OpenPartPtr& open) -> Status {
    if (open->as_stored()) out = open->reader->stored_place(run.at);
    return {};
  });
  if (!done || !out) return std::nullopt;
  out->length = std::min(out->length, begin_of(run.part + 1) - offset);
  return out;
}

NamedSources ConcatenatedReader::named_sources(std::size_t most, RequestBudget& budget) const {
  NamedSources out;
  std::string_view before;
  for (std::size_t part = 0; part + 1 < starts_.size() && budget.spend(kStepsPerPartRun); ++part) {
    std::string name = out.list.size() < most ? whole_->parts->name(part) : std::string();
    if (out.list.size() >= most)
      ++out.left_out;
    else if (!name.empty() && name != before)
      before = out.list.emplace_back(NamedFile{.file = std::move(name)}).file;
  }
  return out;
}

// ---- states

bool ConcatenatedReader::same_elements(const ConcatenatedReader& before) const {
  const object::DatasetDescription &now = description(), &then = before.description();
  const std::size_t d = whole_->dimension;
  if (d != before.whole_->dimension || now.space.dims.size() != then.space.dims.size()) return false;
  for (std::size_t i = 0; i < now.space.dims.size(); ++i)
    if (i != d && now.space.dims[i] != then.space.dims[i]) return false;
  // A value of variable length is a place among the heaps of its file.
  const bool same_heaps =
      !now.type->has_variable_part || whole_->file->followed == before.whole_->file->followed;
  return same_heaps && same_datatype(*now.type, *then.type) && whole_->gap_fill == before.whole_->gap_fill;
}

std::vector<ByteRange> ConcatenatedReader::stale_since(const ConcatenatedReader& before) const {
  if (!same_elements(before)) return {kWholeImage};
  const ConcatenatedParts &now = *whole_->parts, &then = *before.whole_->parts;
  const std::size_t count = std::min(starts_.size(), before.starts_.size()) - 1;
  std::uint64_t same = 0;  // places
  for (std::size_t part = 0; part < count && now.identity(part) == then.identity(part); ++part) {
    same = std::min(starts_[part + 1], before.starts_[part + 1]);
    if (starts_[part + 1] != before.starts_[part + 1]) break;
  }
  std::vector<ByteRange> out;
  if (is_outer()) {
    if (same < before.starts_.back()) out.push_back({same * inner_, format::kUnlimited});
  } else if (same < before.starts_.back() || same < starts_.back()) {
    return {kWholeImage};
  }
  for (const std::size_t part : before.parts_.parts_with_other_sources()) {
    if (!is_outer()) return {kWholeImage};
    if (before.starts_[part] < same) out.push_back({before.begin_of(part), before.begin_of(part + 1)});
  }
  return out;
}

}  // namespace h5mount::dataset
