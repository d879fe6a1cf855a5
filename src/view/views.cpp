#include <array>

#include "h5mount/view/view.h"
#include "npy.h"
#include "parquet.h"
#include "raw.h"
#include "table_views.h"
#include "text_lines.h"
#include "tiff.h"

namespace h5mount::view {

namespace {

constexpr std::array kViews = {
    View{"csv", ".csv", table_unfit, measured_size, make_csv, true},
    View{"ndjson", ".ndjson", table_unfit, ndjson_size, make_ndjson, true},
    View{"npy", ".npy", npy_unfit, npy_size, make_npy},
    View{"text", "", text_unfit, text_size, make_text},
    View{"parquet", ".parquet", parquet_unfit, parquet_size, make_parquet, true},
    View{"tiff", ".tif", tiff_unfit, tiff_size, make_tiff},
    View{"tsv", ".tsv", table_unfit, measured_size, make_tsv, true},
};

constexpr View kRaw{"", "", raw_unfit, raw_size, make_raw};

}  // namespace

std::span<const View> views() {
  return kViews;
}

const View& view_by_suffix(std::string_view shown) {
  for (const View& view : kViews)
    if (!view.suffix.empty() && shown.ends_with(view.suffix)) return view;
  return kRaw;
}

}  // namespace h5mount::view
