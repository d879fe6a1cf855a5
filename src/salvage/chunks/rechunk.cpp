// Mends datasets: contiguous data of which parts are lost get a new place, and chunks get a new tree.
#include <algorithm>
#include <utility>

#include "chunks.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"
#include "h5mount/format/filter_ids.h"

namespace h5mount::salvage {
namespace {

using format::MessageType;

constexpr std::uint64_t kMaxGrid = 1ULL << 24;
constexpr std::uint64_t kStepsPerChunk = 256;  // for its state, as a small file may claim many chunks
constexpr std::size_t kLeafEntries = 1024;
constexpr std::size_t kMaxMissing = 1000;

constexpr const char* kUnread = "its header; some of its bytes cannot be read";

enum class State : std::uint8_t { Unknown, Absent, Present, Lost };

void add_range(std::vector<Range>& ranges, std::uint64_t begin, std::uint64_t end) {
  if (!ranges.empty() && (begin <= ranges.back().end || ranges.size() >= kMaxMissing))
    ranges.back().end = std::max(ranges.back().end, end);
  else
    ranges.push_back({begin, end});
}

// Adds ranges in any order.
void join_missing(Finding& finding, std::vector<Range> more) {
  if (more.empty()) return;
  more.insert(more.end(), finding.missing.begin(), finding.missing.end());
  std::ranges::sort(more, {}, &Range::begin);
  finding.missing.clear();
  for (const Range& range : more) add_range(finding.missing, range.begin, range.end);
}

// The bytes of an element that was never written.
std::vector<std::byte> fill_bytes(const object::DatasetDescription& description) {
  if (!description.fill.value.empty()) return description.fill.value;
  return std::vector<std::byte>(
      static_cast<std::size_t>(std::min<std::uint64_t>(description.element_size, 4096)));
}

// ---- contiguous

void mend_contiguous(SalvageState& state, const OpenedDataset& dataset, bool unlinked, Finding& finding) {
  const object::DatasetDescription& d = dataset.description;
  const std::uint64_t begin = d.layout.address, bytes = d.image_bytes;
  const std::uint64_t behind = checked_add(begin, bytes).value_or(~std::uint64_t{0});
  UsedRanges gone;  // counted from the dataset's first byte
  const auto lose = [&](const UsedRanges& used) {
    const auto parts = parts_in(state, used, begin, std::min(behind, state.end));
    for (const Range& part : parts) gone.add(part);
    return !parts.empty();
  };
  if (unlinked) lose(state.used);
  if (is_unread(state, begin, bytes) && lose(state.unreadable)) finding.found_by = kUnread;
  if (behind > state.end) {
    const std::uint64_t from = state.end > begin ? state.end - begin : 0;
    gone.add(from, bytes - from);
  }
  gone.settle();
  std::vector<Range> lost;
  gone.within(0, bytes, [&](const Range& range) { lost.push_back(range); });
  if (lost.empty()) return;
  finding.certainty = Certainty::Plausible;  // no checksum covers contiguous data
  const bool fill = state.options.fill && state.may_fill(bytes);
  for (const Range& range : lost) {
    add_range(finding.missing, range.begin, range.end);
    if (fill) finding.filled += range.end - range.begin;
  }
  if (!unlinked && !fill) return;  // reading them is an error anyway
  const auto place =
      state.made->add_part(begin, bytes, std::move(lost), fill ? fill_bytes(d) : std::vector<std::byte>{});
  if (!place) return;
  static constexpr MessageType kLayout[] = {MessageType::DataLayout};
  const format::NewMessage layout = format::encode_contiguous_layout(*place, bytes, state.sizes());
  state.replace_messages(*dataset.object.header, kLayout, {&layout, 1});
}

// ---- chunked

class ChunkTable {
 public:
  ChunkTable(SalvageState& state, const OpenedDataset& dataset, std::uint64_t count)
      : state_(state),
        dataset_(dataset),
        geometry_(dataset.geometry),
        states_(static_cast<std::size_t>(count)),
        place_of_(static_cast<std::size_t>(count)) {}

  // Takes the chunks of the dataset's own index, which count more than those that are found beside it.
  void take_known(const std::vector<PlacedChunk>& chunks) {
    for (const PlacedChunk& one : chunks) place(one, true);
    known_ = placed_.size();
  }
  void take(const GatheredChunks& gathered) {
    for (const PlacedChunk& one : gathered.chunks) place(one, false);
    for (const std::uint64_t number : gathered.absent)
      if (number < states_.size() && states_[number] == State::Unknown) states_[number] = State::Absent;
  }
  // The chunks that the dataset's own index does not list.
  UsedRanges ranges_of_found() const {
    UsedRanges out;
    for (std::size_t i = known_; i < placed_.size(); ++i)
      if (states_[placed_[i].number] == State::Present &&
          range_within(placed_[i].record.address, placed_[i].record.stored_size, state_.end))
        out.add(placed_[i].record.address, placed_[i].record.stored_size);
    out.settle();
    return out;
  }
  void all_others_absent() {
    for (State& state : states_)
      if (state == State::Unknown) state = State::Absent;
  }
  bool conflicts() const { return conflicts_; }

  // Whether a checksum covers the bytes of every chunk that is given.
  bool covered() const;

  // Marks chunks as lost that lie behind the file's end, on bytes that something else claims (if `unlinked`),
  // or, with Options::fill, that cannot be decoded.
  bool drop_lost(bool unlinked) {
    const auto split = std::ranges::partition(placed_, [&](const PlacedChunk& one) {
      const std::uint64_t begin = one.record.address, bytes = one.record.stored_size;
      const bool inside = range_within(begin, bytes, state_.end);
      return inside && !(unlinked && state_.used.touches(begin, begin + bytes));
    });
    for (const PlacedChunk& one : split) states_[one.number] = State::Lost;
    const bool any = !split.empty();
    if (!state_.options.fill) return any;
    const std::span<const PlacedChunk> there(placed_.begin(), split.begin());
    const std::vector<std::uint64_t> damaged = damaged_chunks(state_, dataset_, there);
    for (const std::uint64_t number : damaged) states_[number] = State::Lost;
    return any || !damaged.empty();
  }

  // Looks for chunks of which the source fails to give bytes. Returns false if there are none.
  bool find_unread() {
    for (const PlacedChunk& one : placed_)
      if (states_[one.number] == State::Present &&
          is_unread(state_, one.record.address, one.record.stored_size))
        unread_.push_back(one.number);
    std::ranges::sort(unread_);
    return !unread_.empty();
  }

  // Notes the ranges of chunks whose checksum proves nothing.
  void note_zeros(Finding& finding) {
    std::vector<PlacedChunk> there;
    for (const PlacedChunk& one : placed_)
      if (states_[one.number] == State::Present &&
          range_within(one.record.address, one.record.stored_size, state_.end))
        there.push_back(one);
    for (const std::uint64_t number : zero_chunks(state_, dataset_, there)) {
      const ChunkImage image = image_of(geometry_, number);
      add_range(finding.guessed, image.range.begin, image.range.end);
    }
  }

  bool write(Finding& finding);
  // The chunks as entries of a tree's nodes, in order. Notes what is missing of them.
  std::vector<format::NodeEntry> entries(Finding& finding);

 private:
  void place(const PlacedChunk& one, bool known) {
    if (one.number >= states_.size()) return;
    State& state = states_[one.number];
    if (state == State::Unknown || state == State::Absent) {
      state = State::Present;
      place_of_[static_cast<std::size_t>(one.number)] = static_cast<std::uint32_t>(placed_.size());
      placed_.push_back(one);
      return;
    }
    if (known || state != State::Present) return;
    const std::size_t other = place_of_[static_cast<std::size_t>(one.number)];
    if (placed_[other].record.address == one.record.address) return;
    conflicts_ = true;
    // Two structures that nothing refers to disagree, so neither is used.
    if (other >= known_) state = State::Lost;
  }

  void note_missing(std::uint64_t number, Finding& finding) const;
  bool take_unread(const PlacedChunk& chunk, format::NodeEntry& entry, Finding& finding);
  std::optional<std::uint64_t> write_tree(const std::vector<format::NodeEntry>& entries);

  SalvageState& state_;
  const OpenedDataset& dataset_;
  const chunk::ChunkGeometry& geometry_;
  std::vector<State> states_;
  std::vector<PlacedChunk> placed_;
  std::vector<std::uint32_t> place_of_;  // by number: where a chunk that is present is in `placed_`
  std::size_t known_ = 0;
  bool conflicts_ = false;
  std::vector<std::uint64_t> unread_;  // numbers of chunks
  std::vector<Range> unread_ranges_;   // of the dataset's file
};

// deflate ends its stream with an Adler-32, bzip2 each block with a CRC.
bool ChunkTable::covered() const {
  std::uint32_t checksums = 0;
  std::uint32_t bit = 1;
  for (const format::FilterDescription& filter : dataset_.description.pipeline.filters) {
    const bool has =
        filter.id == format::kFletcher32 || filter.id == format::kDeflate || filter.id == format::kBzip2;
    checksums |= has ? bit : 0;
    bit <<= 1;
  }
  return std::ranges::all_of(placed_, [&](const PlacedChunk& one) {
    return states_[one.number] != State::Present ||
           ((checksums & ~one.record.filter_mask) != 0 && !is_plain_at_edge(dataset_, one.number));
  });
}

// Notes the chunk as missing, from its first byte in the row-major image to its last one.
void ChunkTable::note_missing(std::uint64_t number, Finding& finding) const {
  const ChunkImage image = image_of(geometry_, number);
  add_range(finding.missing, image.range.begin, image.range.end);
  if (state_.options.fill) finding.filled += image.bytes;
}

// Gives those bytes of a chunk that is stored as it is which the source gives. Returns false if the chunk is
// to be left out of the tree, so that all of it is filled.
bool ChunkTable::take_unread(const PlacedChunk& chunk, format::NodeEntry& entry, Finding& finding) {
  const bool fill = state_.options.fill;
  if (!is_stored_plain(dataset_, chunk)) {
    note_missing(chunk.number, finding);
    return !fill;
  }
  UnreadParts unread = unread_parts(state_, geometry_, chunk);
  unread_ranges_.insert(unread_ranges_.end(), unread.ranges.begin(), unread.ranges.end());
  if (!fill) return true;
  const auto place = state_.made->add_part(chunk.record.address, chunk.record.stored_size,
                                           std::move(unread.parts), fill_bytes(dataset_.description));
  if (!place) return true;
  entry.child = *place;
  finding.filled += unread.bytes;
  return true;
}

std::vector<format::NodeEntry> ChunkTable::entries(Finding& finding) {
  std::ranges::sort(placed_, {}, &PlacedChunk::number);
  std::vector<format::NodeEntry> out;
  const std::uint64_t stored = geometry_.filtered ? 1 : geometry_.chunk_bytes;
  std::optional<std::uint64_t> nowhere;
  auto chunk = placed_.begin();
  for (std::uint64_t number = 0; number < states_.size(); ++number) {
    while (chunk != placed_.end() && chunk->number < number) ++chunk;
    const State state = states_[number];
    if (state == State::Absent) continue;
    format::NodeEntry entry;
    entry.offsets = offsets_of(geometry_, number);
    if (state == State::Present) {
      entry.stored_size = static_cast<std::uint32_t>(chunk->record.stored_size);
      entry.filter_mask = chunk->record.filter_mask;
      entry.child = chunk->record.address;
      if (is_plain_at_edge(dataset_, number)) entry.filter_mask = ~std::uint32_t{0};
      if (std::ranges::binary_search(unread_, number) && !take_unread(*chunk, entry, finding)) continue;
    } else {
      note_missing(number, finding);
      if (state_.options.fill) continue;
      if (!nowhere) nowhere = state_.made->lost(stored);
      entry.stored_size = static_cast<std::uint32_t>(stored);
      entry.child = nowhere.value_or(state_.end);
    }
    out.push_back(std::move(entry));
  }
  join_missing(finding, std::exchange(unread_ranges_, {}));
  return out;
}

std::optional<std::uint64_t> ChunkTable::write_tree(const std::vector<format::NodeEntry>& entries) {
  std::vector<std::uint64_t> behind = geometry_.chunk_dims;  // the key behind the last chunk
  for (std::size_t d = 0; d < behind.size(); ++d) behind[d] *= geometry_.grid[d];
  const std::span<const format::NodeEntry> all(entries);
  std::vector<format::NodeEntry> leaves;
  for (std::size_t at = 0; at < all.size() || leaves.empty(); at += kLeafEntries) {
    const auto part = all.subspan(at, std::min(kLeafEntries, all.size() - at));
    const bool last = at + part.size() == all.size();
    const auto place = state_.made->add(
        format::encode_chunk_node(0, part, last ? behind : all[at + part.size()].offsets, state_.sizes()));
    if (!place) return std::nullopt;
    if (last && leaves.empty()) return place;
    format::NodeEntry leaf;
    leaf.offsets = part.front().offsets;
    leaf.child = *place;
    leaves.push_back(std::move(leaf));
  }
  return state_.made->add(format::encode_chunk_node(1, leaves, behind, state_.sizes()));
}

bool ChunkTable::write(Finding& finding) {
  const auto tree = write_tree(entries(finding));
  if (!tree) return false;
  static constexpr MessageType kLayout[] = {MessageType::DataLayout};
  const format::NewMessage layout =
      format::encode_chunked_layout(*tree, geometry_.chunk_dims, geometry_.element_size, state_.sizes());
  return state_.replace_messages(*dataset_.object.header, kLayout, {&layout, 1});
}

// The chunks that a dataset's index lists; `damage` receives the first error of it.
std::vector<PlacedChunk> chunks_of(SalvageState& state, const OpenedDataset& dataset,
                                   std::optional<Error>& damage) {
  std::vector<PlacedChunk> out;
  const auto index = chunk::open_chunk_index(state.file, dataset.description.layout, dataset.geometry);
  if (!index) {
    damage = index.error();
    return out;
  }
  bool whole = true;
  const Status walked =
      (*index)->for_each([&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord& record) {
        out.push_back({row_major_number(scaled, dataset.geometry.grid), record});
        whole = out.size() < limits::kMaxCheckedExtents && state.spend(1);
        return whole;
      });
  if (!walked) damage = walked.error();
  if (walked && !whole) damage = Error(ErrorCode::LimitExceeded, "more chunks than salvage follows");
  return out;
}

GatheredChunks gather(SalvageState& state, const OpenedDataset& dataset) {
  switch (dataset.description.layout.index) {
    case format::ChunkIndexKind::FixedArray:
    case format::ChunkIndexKind::ExtensibleArray:
      return gather_array_chunks(state, dataset);
    case format::ChunkIndexKind::BTree1:
      return gather_tree1_chunks(state, dataset);
    case format::ChunkIndexKind::BTree2:
      return gather_tree2_chunks(state, dataset);
    case format::ChunkIndexKind::Single:
    case format::ChunkIndexKind::Implicit:
      break;
  }
  return {};
}

// Keeps where the chunks lie that were found for the dataset at `address`, to compare them with the data of
// others.
void keep_found(SalvageState& state, std::uint64_t address, UsedRanges chunks) {
  if (chunks.count() == 0) return;
  state.data.ranges.add(chunks, state.end);
  state.rebuilt.emplace_back(address, std::move(chunks));
}

void mend_chunked(SalvageState& state, const OpenedDataset& dataset, bool unlinked, Finding& finding) {
  const chunk::ChunkGeometry& geometry = dataset.geometry;
  if (geometry.chunk_bytes == 0 || geometry.chunk_bytes > UINT32_MAX) return;
  const auto count = chunk_count(geometry, kMaxGrid);
  if (!count || *count > state.steps / kStepsPerChunk || !state.spend(*count * kStepsPerChunk)) return;
  std::optional<Error> damage;
  ChunkTable table(state, dataset, *count);
  table.take_known(chunks_of(state, dataset, damage));
  if (damage) {
    const GatheredChunks gathered = gather(state, dataset);
    table.take(gathered);
    // Structures inside of chunks, as of a file that is kept as bytes, are none of this file's.
    state.used_by_unlinked.add(table.ranges_of_found(), state.end);
    state.used_by_unlinked.settle();
    finding.certainty = std::max(
        {finding.certainty, gathered.certainty, table.conflicts() ? Certainty::Guessed : Certainty::Proven});
    finding.add_reason(gathered.found_by.empty() ? "what is left of its chunk index" : gathered.found_by);
  } else {
    table.all_others_absent();
  }
  if (damage && !unlinked) keep_found(state, dataset.object.address, table.ranges_of_found());
  const bool lost = table.drop_lost(unlinked);
  // A version 1 tree's node has no checksum: if one record is wrong, others may be.
  const bool unchecked = dataset.description.layout.index == format::ChunkIndexKind::BTree1;
  if (unchecked && (damage || lost)) finding.certainty = Certainty::Guessed;
  // A header of version 1 has no checksum, nor have the values of types of variable length, which lie apart.
  const bool proven = dataset.object.header->version == 2 && !dataset.description.type->has_variable_part;
  if (!proven || !table.covered()) finding.certainty = std::max(finding.certainty, Certainty::Plausible);
  table.note_zeros(finding);
  const bool unread = table.find_unread();
  if (unread && finding.found_by.empty()) finding.found_by = kUnread;
  if (!damage && !state.options.fill && (lost ? !unlinked : unread)) {
    Finding scratch = finding;  // ordinary readers refuse these chunks: only report them
    ChunkTable told = table;
    if (lost)
      (void)told.write(scratch);
    else
      (void)told.entries(scratch);
    finding.missing = scratch.missing;
    return;
  }
  if (damage || lost || unread) (void)table.write(finding);
}

}  // namespace

std::optional<format::ChunkRecordFormat> record_format(const SalvageState& state,
                                                       const OpenedDataset& dataset, unsigned coordinates) {
  const chunk::ChunkGeometry& geometry = dataset.geometry;
  const std::uint64_t offsets = state.sizes().offsets;
  std::uint64_t bytes = offsets + 8 * std::uint64_t{coordinates};
  if (geometry.filtered) {
    const auto bits = static_cast<std::uint64_t>(std::bit_width(geometry.chunk_bytes)) - 1;
    const std::uint64_t width = std::min<std::uint64_t>(1 + (bits + 8) / 8, 8);
    bytes += (dataset.description.layout.version >= 5 ? 8 : width) + 4;
  }
  return format::ChunkRecordFormat::make(
      {.client = geometry.filtered ? format::ChunkClient::Filtered : format::ChunkClient::Plain,
       .size_of_offsets = state.sizes().offsets,
       .coordinates = coordinates,
       .chunk_bytes = geometry.chunk_bytes},
      bytes);
}

std::vector<std::uint64_t> offsets_of(const chunk::ChunkGeometry& geometry, std::uint64_t number) {
  std::vector<std::uint64_t> out(geometry.grid.size());
  row_major_place(number, geometry.grid, out);
  for (std::size_t d = 0; d < out.size(); ++d) out[d] *= geometry.chunk_dims[d];
  return out;
}

bool is_plain_at_edge(const OpenedDataset& dataset, std::uint64_t number) {
  if (!dataset.description.layout.partial_chunks_unfiltered) return false;
  const chunk::ChunkGeometry& geometry = dataset.geometry;
  const std::vector<std::uint64_t> offsets = offsets_of(geometry, number);
  for (std::size_t d = 0; d < offsets.size(); ++d)
    if (geometry.dims[d] - offsets[d] < geometry.chunk_dims[d]) return true;
  return false;
}

bool may_be_chunk(const SalvageState& state, const chunk::ChunkGeometry& geometry, std::uint64_t address,
                  std::uint64_t bytes) {
  const std::uint64_t most = geometry.chunk_bytes + geometry.chunk_bytes / 8 + 65'536;
  const bool fits = geometry.filtered ? bytes > 0 && bytes <= most : bytes == geometry.chunk_bytes;
  return fits && address != 0 && address < state.end;
}

void mend_dataset(SalvageState& state, const OpenedDataset& dataset, bool unlinked) {
  Finding finding;
  finding.address = dataset.object.address;
  if (dataset.description.layout.cls == format::LayoutClass::Contiguous)
    mend_contiguous(state, dataset, unlinked, finding);
  else if (dataset.description.layout.cls == format::LayoutClass::Chunked)
    mend_chunked(state, dataset, unlinked, finding);
  const bool damage = !finding.found_by.empty() || !finding.missing.empty();
  if (!damage && finding.guessed.empty()) return;
  if (finding.found_by.empty())
    finding.found_by = damage ? "its header; some of its bytes are gone"
                              : "its header; some of its chunks are nothing but zeros";
  state.findings.note(std::move(finding), damage);
}

}  // namespace h5mount::salvage
