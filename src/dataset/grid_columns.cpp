#include "h5mount/dataset/grid_columns.h"

#include <algorithm>
#include <cstring>

#include "h5mount/base/checked.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/dataset/dataset_part.h"
#include "h5mount/dataset/readers_over.h"

namespace h5mount::dataset {

namespace {

using object::DatasetDescription;
using object::GridRows;
using object::GridRowsPtr;

constexpr std::uint32_t kCodeBytes = 4, kPlaceBytes = 8;

DatasetDescription described_rows(DatasetDescription out, const GridRows& rows) {
  out.space.kind = format::DataspaceKind::Simple;
  out.space.dims = {rows.rows()};
  out.space.max_dims = {rows.rows()};
  // Longer than a file can be: the table of which it is a column says so.
  out.image_bytes = checked_mul(rows.rows(), out.element_size).value_or(format::kUnlimited);
  return out;
}

// What is read from another dataset.
class GridElements : public ElementsReader {
 public:
  GridElements(DatasetDescription shown, DatasetReaderPtr base, GridRowsPtr rows)
      : ElementsReader(std::move(shown)), base_(std::move(base)), rows_(std::move(rows)) {}

  std::optional<Error> problem() const override { return base_->problem(); }

 protected:
  const DatasetReaderPtr base_;
  const GridRowsPtr rows_;
};

class GridValues final : public GridElements {
 public:
  using GridElements::GridElements;

 private:
  Status read_elements(std::uint64_t first, MutableByteSpan out, RequestBudget& budget) const override {
    const std::uint64_t bytes = description().element_size;
    if (rows_->boxes() <= 1) return base_->read_into(first * bytes, out, budget);
    constexpr std::size_t kMostRuns = 1U << 16;  // at once
    std::vector<ByteRun> runs;                   // ascending
    const auto flush = [&] {
      std::size_t all = 0;
      for (const ByteRun& run : runs) all += static_cast<std::size_t>(run.bytes);
      const Status read = base_->read_runs(runs, out.first(all), budget);
      out = out.subspan(all);
      runs.clear();
      return read;
    };
    const auto add = [&](const GridRows::Run& run) -> Status {
      const ByteRun next{run.element * bytes, run.rows * bytes};
      if (!runs.empty() && (next.offset < runs.back().offset || runs.size() == kMostRuns)) H5_TRY(flush());
      if (!runs.empty() && runs.back().offset + runs.back().bytes == next.offset)
        runs.back().bytes += next.bytes;
      else
        runs.push_back(next);
      return {};
    };
    H5_TRY(rows_->for_each_run(first, out.size() / bytes, add));
    return flush();
  }
};

class GridCoordinate final : public GridElements {
 public:
  GridCoordinate(DatasetDescription shown, DatasetReaderPtr base, std::size_t axis, GridRowsPtr rows)
      : GridElements(std::move(shown), std::move(base), std::move(rows)), axis_(axis) {}

 private:
  Status read_elements(std::uint64_t first, MutableByteSpan out, RequestBudget& budget) const override {
    const auto bytes = static_cast<std::size_t>(description().element_size);
    const bool along = axis_ + 1 == rows_->dims().size();
    const std::uint64_t known = base_->size() / bytes;
    std::uint64_t place = format::kUnlimited;  // of the element that is written at `from`
    const std::byte* from = nullptr;
    return rows_->for_each_run(first, out.size() / bytes, [&](const GridRows::Run& run) -> Status {
      const auto count = static_cast<std::size_t>(run.rows);
      const MutableByteSpan to = out.first(count * bytes);
      out = out.subspan(to.size());
      const std::uint64_t at = run.position[axis_];
      if (along) {
        const std::size_t there = at < known ? std::min<std::size_t>(count, known - at) * bytes : 0;
        std::ranges::fill(to.subspan(there), std::byte{0});
        return base_->read_into(at * bytes, to.first(there), budget);
      }
      if (at != place) {
        std::ranges::fill(to.first(bytes), std::byte{0});
        if (at < known) H5_TRY(base_->read_into(at * bytes, to.first(bytes), budget));
      } else {
        std::memcpy(to.data(), from, bytes);
      }
      place = at;
      from = to.data();
      for (std::size_t i = 1; i < count; ++i) std::memcpy(to.data() + i * bytes, to.data(), bytes);
      return {};
    });
  }

  const std::size_t axis_;
};

class ListEndsReader final : public ElementsReader {
 public:
  ListEndsReader(DatasetDescription shown, DatasetReaderPtr ends)
      : ElementsReader(std::move(shown)), ends_(std::move(ends)) {}

  std::optional<Error> problem() const override { return ends_->problem(); }

 private:
  Status read_elements(std::uint64_t first, MutableByteSpan out, RequestBudget& budget) const override {
    const format::Datatype& type = *ends_->description().type;
    const std::uint64_t before = first > 0 ? 1 : 0, count = out.size() / (2 * kPlaceBytes);
    std::vector<std::byte> stored(static_cast<std::size_t>((count + before) * type.size));
    H5_TRY(ends_->read_into((first - before) * type.size, stored, budget));
    const std::byte* at = stored.data();
    std::uint64_t begin = 0;
    for (std::uint64_t i = 0; i < count + before; ++i, at += type.size) {
      const std::uint64_t end = unsigned_value(type, at);
      if (i >= before) {
        std::memcpy(out.data() + (i - before) * 2 * kPlaceBytes, &begin, kPlaceBytes);
        std::memcpy(out.data() + ((i - before) * 2 + 1) * kPlaceBytes, &end, kPlaceBytes);
      }
      begin = end;
    }
    return {};
  }

  // A number of a usual format; of big-endian ones the last byte is the lowest.
  static std::uint64_t unsigned_value(const format::Datatype& type, const std::byte* at) {
    std::uint64_t out = 0;
    for (std::uint32_t i = 0; i < type.size; ++i) {
      const std::uint32_t place = type.order == format::ByteOrder::Big ? i : type.size - 1 - i;
      out = out << 8 | std::to_integer<std::uint64_t>(at[place]);
    }
    return out;
  }

  const DatasetReaderPtr ends_;
};

class GridPlacesReader final : public ElementsReader {
 public:
  GridPlacesReader(DatasetDescription shown, const GridPlaces& places, GridRowsPtr rows)
      : ElementsReader(std::move(shown)), places_(places), rows_(std::move(rows)) {}

 private:
  Status read_elements(std::uint64_t first, MutableByteSpan out, RequestBudget&) const override {
    const std::uint64_t bytes = description().element_size;
    std::byte* to = out.data();
    const std::uint64_t step = places_.axis + 1 == rows_->dims().size() ? 1 : 0;
    return rows_->for_each_run(first, out.size() / bytes, [&](const GridRows::Run& run) -> Status {
      std::uint64_t place = run.position[places_.axis];
      for (std::uint64_t i = 0; i < run.rows; ++i, place += step) {
        const std::uint64_t shown = place < places_.known ? place : ~std::uint64_t{0};
        std::memcpy(to, &shown, bytes);  // the lowest bytes are first
        to += bytes;
      }
      return {};
    });
  }

  const GridPlaces places_;
  const GridRowsPtr rows_;
};

}  // namespace

DatasetDescription describe_grid_values(const DatasetDescription& dataset, const GridRows& rows) {
  return described_rows(describe_part(dataset, whole_dataset(dataset)), rows);
}
DatasetReaderPtr open_grid_values(DatasetReaderPtr dataset, GridRowsPtr rows) {
  DatasetDescription shown = describe_grid_values(dataset->description(), *rows);
  return std::make_shared<const GridValues>(std::move(shown), std::move(dataset), std::move(rows));
}

DatasetDescription describe_grid_places(const GridPlaces& places, const GridRows& rows) {
  DatasetDescription out;
  out.type = integer_type(places.codes ? kCodeBytes : kPlaceBytes, true, format::ByteOrder::Little);
  out.element_size = out.type->size;
  return described_rows(std::move(out), rows);
}
DatasetReaderPtr open_grid_places(const GridPlaces& places, GridRowsPtr rows) {
  DatasetDescription shown = describe_grid_places(places, *rows);
  return std::make_shared<const GridPlacesReader>(std::move(shown), places, std::move(rows));
}

DatasetDescription describe_grid_coordinate(const DatasetDescription& coordinate, const GridRows& rows) {
  return described_rows(describe_part(coordinate, whole_dataset(coordinate)), rows);
}
DatasetReaderPtr open_grid_coordinate(DatasetReaderPtr coordinate, std::size_t axis, GridRowsPtr rows) {
  DatasetDescription shown = describe_grid_coordinate(coordinate->description(), *rows);
  return std::make_shared<const GridCoordinate>(std::move(shown), std::move(coordinate), axis,
                                                std::move(rows));
}

Result<DatasetDescription> describe_list_ends(const DatasetDescription& ends) {
  const format::Datatype& type = *ends.type;
  if (type.cls != format::DatatypeClass::Integer || type.size > kPlaceBytes || ends.space.rank() != 1)
    return fail({ErrorCode::UnsupportedFeature, "ends of lists that are no integers"});
  DatasetDescription out = describe_part(ends, whole_dataset(ends));
  auto bounds = std::make_shared<format::Datatype>();
  bounds->cls = format::DatatypeClass::Opaque;
  bounds->size = 2 * kPlaceBytes;
  bounds->has_variable_part = true;  // as text
  out.type = std::move(bounds);
  out.element_size = 2 * kPlaceBytes;
  const auto bytes = checked_mul(ends.space.dims[0], out.element_size);
  if (!bytes) return fail({ErrorCode::TooLarge, "more lists than a file can have"});
  out.image_bytes = *bytes;
  return out;
}
Result<DatasetReaderPtr> open_list_ends(DatasetReaderPtr ends) {
  H5_ASSIGN(DatasetDescription shown, describe_list_ends(ends->description()));
  return std::make_shared<const ListEndsReader>(std::move(shown), std::move(ends));
}

}  // namespace h5mount::dataset
