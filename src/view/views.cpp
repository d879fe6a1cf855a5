#include "views.h"

#include <algorithm>
#include <array>

#include "h5mount/view/zarr.h"

namespace h5mount::view {

namespace {

constexpr std::array kZarrStores = {
    ZarrStore{"plain.zarr", ZarrEncoding::Plain,
              "the file as a Zarr store of version 2, decoded: for netCDF's tools too"},
    ZarrStore{"stored.zarr", ZarrEncoding::Stored,
              "the file as a Zarr store of version 2, its chunks as stored: to keep, for browsers"},
    ZarrStore{"v3.zarr", ZarrEncoding::Version3,
              "the file as a Zarr store of version 3, decoded: for browsers"},
};

}  // namespace

std::vector<dataset::ByteRange> ComputedFile::stale_since(const ComputedFile&,
                                                          std::span<const dataset::ByteRange>) const {
  return {{0, format::kUnlimited}};
}

Result<std::uint64_t> ComputedFile::find_hole(std::uint64_t, RequestBudget&) const {
  return size();
}

void add_text(const std::shared_ptr<const std::string>& text, std::uint64_t offset, std::uint64_t length,
              dataset::Pieces& out) {
  if (offset >= text->size()) return;
  const auto begin = static_cast<std::size_t>(offset);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(length, text->size() - begin));
  out.add(as_bytes(*text).subspan(begin, count), text);
}

std::span<const View> views() {
  static const std::array all{kNpyView, kCsvView, kTsvView, kNdjsonView, kParquetView, kTiffView, kTextView};
  return all;
}

std::span<const ZarrStore> zarr_stores() {
  return kZarrStores;
}

const View& text_view() {
  return kTextView;
}

const View& view_by_suffix(std::string_view shown) {
  for (const View& view : views())
    if (!view.suffix.empty() && shown.ends_with(view.suffix)) return view;
  return kRawView;
}

}  // namespace h5mount::view
