#include "h5mount/dataset/dataset_part.h"

#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"

namespace h5mount::dataset {

namespace {

// The largest number of runs of one call of read_runs. A request of more runs, of a few bytes each, is split.
constexpr std::size_t kMaxRuns = 256U << 10;

using ReaderPtr = std::shared_ptr<const DatasetReader>;

// Maps the part's elements to offsets in the dataset's image.
class PartMap {
 public:
  PartMap(const object::DatasetDescription& dataset, DatasetPart part)
      : part_(std::move(part)), item_(part_.type->size), first_(part_.element_offset) {
    std::uint64_t bytes = dataset.element_size;
    for (std::size_t i = part_.axes.size(); i-- > 0;) {
      const DatasetPart::Axis& axis = part_.axes[i];
      first_ += axis.start * bytes;
      if (axis.count != 1) {
        counts_.insert(counts_.begin(), axis.count);
        steps_.insert(steps_.begin(), axis.step * bytes);
      }
      bytes *= dataset.space.dims[i];
    }
    if (counts_.empty()) counts_.push_back(1), steps_.push_back(item_);
  }

  const DatasetPart& part() const { return part_; }
  std::uint64_t item() const { return item_; }

  // The image offset of an element by its number.
  std::uint64_t offset_of(std::uint64_t element) const {
    std::uint64_t at[limits::kMaxRank];
    const std::span place(at, counts_.size());
    row_major_place(element, counts_, place);
    return offset_at(place);
  }

  // Visits the bytes [offset, offset + length) of the part as runs of the dataset's image, in order, adjacent
  // runs joined: visit(offset, bytes); false stops. Returns the number of bytes visited.
  template <class Visit>
  std::uint64_t for_each_run(std::uint64_t offset, std::uint64_t length, Visit visit) const;

 private:
  std::uint64_t offset_at(std::span<const std::uint64_t> place) const {
    std::uint64_t offset = first_;
    for (std::size_t i = 0; i < place.size(); ++i) offset += place[i] * steps_[i];
    return offset;
  }

  DatasetPart part_;
  std::uint64_t item_;
  std::uint64_t first_;  // image offset of the first element
  // The number of positions, and the bytes of the image from one to the next, of each dimension with more
  // than one position; one entry if there is no such dimension.
  std::vector<std::uint64_t> counts_, steps_;
};

template <class Visit>
std::uint64_t PartMap::for_each_run(std::uint64_t offset, std::uint64_t length, Visit visit) const {
  std::uint64_t at[limits::kMaxRank];
  const std::span place(at, counts_.size());
  row_major_place(offset / item_, counts_, place);
  const bool adjacent = steps_.back() == item_;
  std::uint64_t element = offset_at(place), within = offset % item_;
  std::uint64_t done = 0, run_begin = 0, run_bytes = 0;
  while (done < length) {
    const std::uint64_t elements = adjacent ? counts_.back() - place.back() : 1;
    const std::uint64_t begin = element + within;
    const std::uint64_t bytes = std::min(length - done, elements * item_ - within);
    within = 0;
    if (run_bytes > 0 && begin == run_begin + run_bytes) {
      run_bytes += bytes;
    } else {
      if (run_bytes > 0 && !visit(run_begin, run_bytes)) return done - run_bytes;
      run_begin = begin;
      run_bytes = bytes;
    }
    done += bytes;
    if (done == length) break;
    place.back() += elements;
    if (place.back() < counts_.back()) {
      element += steps_.back();
    } else {
      --place.back();
      next_row_major(place, counts_);
      element = offset_at(place);
    }
  }
  return run_bytes == 0 || visit(run_begin, run_bytes) ? done : done - run_bytes;
}

// The number of the first element that begins or ends after an offset of the dataset's image.
std::uint64_t first_behind(const PartMap& map, std::uint64_t elements, std::uint64_t offset) {
  std::uint64_t low = 0, high = elements;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (map.offset_of(middle) + map.item() > offset)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

class PartReader final : public DatasetReader {
 public:
  PartReader(ReaderPtr base, PartMap map)
      : DatasetReader(describe_part(base->description(), map.part())),
        base_(std::move(base)),
        map_(std::move(map)) {}

  const DatasetReader& base() const { return *base_; }
  const PartMap& map() const { return map_; }

  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override {
    if (offset >= size()) return {};
    length = std::min(length, size() - offset);
    std::vector<ByteRun> runs;
    if (length > 0 && collect(offset, length, runs) == length && runs.size() == 1)
      return base_->read(runs[0].offset, runs[0].bytes, access, out);
    return DatasetReader::read(offset, length, access, out);
  }

  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override {
    H5_TRY(check_inside(offset, out.size()));
    std::vector<ByteRun> runs;
    while (!out.empty()) {
      runs.clear();
      const auto bytes = static_cast<std::size_t>(collect(offset, out.size(), runs));
      H5_TRY(base_->read_runs(runs, out.first(bytes), budget));
      out = out.subspan(bytes);
      offset += bytes;
    }
    return {};
  }

  Result<WrittenRun> written_run(std::uint64_t offset, RequestBudget& budget) const override {
    const std::uint64_t item = map_.item(), element = offset / item, at = map_.offset_of(element);
    H5_ASSIGN(const WrittenRun run, base_->written_run(at, budget));
    if (run.end < at + item) return WrittenRun{(element + 1) * item, true};
    // The element that a run ends in belongs to it if the run is written.
    const std::uint64_t before = run.written ? run.end + item - 1 : run.end;
    const std::uint64_t end = std::max(first_behind(map_, size() / item, before), element + 1);
    return WrittenRun{end * item, run.written};
  }
  std::optional<Error> problem() const override { return base_->problem(); }
  bool sources_changed() const override { return base_->sources_changed(); }
  NamedSources named_sources(std::size_t most, RequestBudget& budget) const override {
    return base_->named_sources(most, budget);
  }
  MissingSources missing_sources() const override { return base_->missing_sources(); }

 private:
  std::uint64_t collect(std::uint64_t offset, std::uint64_t length, std::vector<ByteRun>& runs) const {
    return map_.for_each_run(offset, length, [&](std::uint64_t begin, std::uint64_t bytes) {
      if (runs.size() == kMaxRuns) return false;
      runs.push_back({begin, bytes});
      return true;
    });
  }

  ReaderPtr base_;
  PartMap map_;
};

// Whether the elements of `before` are the first ones of `now`, at unchanged positions.
bool continues(const PartReader& before, const PartReader& now) {
  const DatasetPart& next = now.map().part();
  const auto& old = before.map().part().axes;
  const auto& old_dims = before.base().description().space.dims;
  const auto& dims = now.base().description().space.dims;
  if (old.size() != next.axes.size() || old.empty() || old_dims.size() != dims.size()) return false;
  for (std::size_t i = 1; i < old.size(); ++i)
    if (old[i] != next.axes[i] || old_dims[i] != dims[i]) return false;
  return old[0].start == next.axes[0].start && old[0].step == next.axes[0].step &&
         old[0].count <= next.axes[0].count && next.element_offset == before.map().part().element_offset &&
         next.type->size == before.map().item();
}

}  // namespace

DatasetPart whole_dataset(const object::DatasetDescription& dataset) {
  DatasetPart part{{}, dataset.type, 0};
  for (const std::uint64_t dim : dataset.space.dims) part.axes.push_back({0, 1, dim, false});
  return part;
}

object::DatasetDescription describe_part(const object::DatasetDescription& dataset, const DatasetPart& part) {
  object::DatasetDescription out;
  out.address = dataset.address;
  out.type = part.type;
  out.element_size = part.type->size;
  out.image_bytes = dataset.space.kind == format::DataspaceKind::Null ? 0 : out.element_size;
  for (std::size_t i = 0; i < part.axes.size(); ++i) {
    out.image_bytes *= part.axes[i].count;
    if (part.axes[i].dropped) continue;
    const auto& most = dataset.space.max_dims;
    const bool grows = i < most.size() && most[i] != dataset.space.dims[i];
    out.space.dims.push_back(part.axes[i].count);
    out.space.max_dims.push_back(grows ? format::kUnlimited : part.axes[i].count);
  }
  out.space.kind = dataset.space.kind == format::DataspaceKind::Null ? format::DataspaceKind::Null
                   : out.space.dims.empty()                          ? format::DataspaceKind::Scalar
                                                                     : format::DataspaceKind::Simple;
  return out;
}

ReaderPtr open_part(ReaderPtr dataset, DatasetPart part) {
  PartMap map(dataset->description(), std::move(part));
  return std::make_shared<PartReader>(std::move(dataset), std::move(map));
}

std::vector<ByteRange> stale_in_part(const DatasetReader& part, const DatasetReader& earlier,
                                     std::span<const ByteRange> stale) {
  const auto* now = dynamic_cast<const PartReader*>(&part);
  const auto* before = dynamic_cast<const PartReader*>(&earlier);
  if (now == nullptr || before == nullptr || !continues(*before, *now)) return {kWholeImage};
  const PartMap& map = now->map();
  const std::uint64_t elements = before->size() / map.item();
  std::vector<ByteRange> out;
  for (const ByteRange& range : stale) {
    const std::uint64_t begin = first_behind(map, elements, range.begin);
    const std::uint64_t end = first_behind(map, elements, range.end - 1);
    if (begin < elements) out.push_back({begin * map.item(), std::min(end + 1, elements) * map.item()});
  }
  return out;
}

}  // namespace h5mount::dataset
