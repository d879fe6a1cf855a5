#include <array>

#include "h5mount/view/view.h"
#include "h5mount/view/zarr.h"
#include "npy.h"
#include "parquet/parquet.h"
#include "raw.h"
#include "table/table_views.h"
#include "table/text_lines.h"
#include "tiff.h"

namespace h5mount::view {

namespace {

constexpr std::array kViews = {
    View{.directory = "npy",
         .suffix = ".npy",
         .unfit = npy_unfit,
         .size = npy_size,
         .make = make_npy,
         .summary = "a dataset for numpy.load, also with mmap_mode='r'"},
    View{.directory = "csv",
         .suffix = ".csv",
         .unfit = table_unfit,
         .size = measured_size,
         .make = make_csv,
         .of_groups = true,
         .media_type = "text/csv; charset=utf-8",
         .summary = "tables with a header row: datasets of one or two dimensions, and groups of equally long "
                    "datasets of one dimension"},
    View{.directory = "tsv",
         .suffix = ".tsv",
         .unfit = table_unfit,
         .size = measured_size,
         .make = make_tsv,
         .of_groups = true,
         .media_type = "text/tab-separated-values; charset=utf-8",
         .summary = "tables with a header row and tabs"},
    View{.directory = "ndjson",
         .suffix = ".ndjson",
         .unfit = table_unfit,
         .size = ndjson_size,
         .make = make_ndjson,
         .of_groups = true,
         .media_type = "application/x-ndjson",
         .summary = "tables, a JSON object a row"},
    View{.directory = "parquet",
         .suffix = ".parquet",
         .unfit = parquet_unfit,
         .size = parquet_size,
         .make = make_parquet,
         .of_groups = true,
         .media_type = "application/vnd.apache.parquet",
         .summary = "tables for DuckDB, Polars, pandas"},
    View{.directory = "tiff",
         .suffix = ".tif",
         .unfit = tiff_unfit,
         .size = tiff_size,
         .make = make_tiff,
         .media_type = "image/tiff",
         .summary = "images and stacks of images (pages), with RGB(A) and palettes"},
    View{.directory = "text",
         .suffix = "",
         .unfit = text_unfit,
         .size = text_size,
         .make = make_text,
         .media_type = "text/plain; charset=utf-8",
         .summary = "any dataset as text, an element or a row of the last dimension a line"},
};

constexpr View kRaw{.directory = "", .suffix = "", .unfit = raw_unfit, .size = raw_size, .make = make_raw};

constexpr std::array kZarrStores = {
    ZarrStore{"plain.zarr", ZarrEncoding::Plain,
              "the file as a Zarr store of version 2, decoded: for netCDF's tools too"},
    ZarrStore{"stored.zarr", ZarrEncoding::Stored,
              "the file as a Zarr store of version 2, its chunks as stored: to keep, for browsers"},
    ZarrStore{"v3.zarr", ZarrEncoding::Version3,
              "the file as a Zarr store of version 3, decoded: for browsers"},
};

}  // namespace

std::span<const View> views() {
  return kViews;
}

std::span<const ZarrStore> zarr_stores() {
  return kZarrStores;
}

const View& view_by_suffix(std::string_view shown) {
  for (const View& view : kViews)
    if (!view.suffix.empty() && shown.ends_with(view.suffix)) return view;
  return kRaw;
}

}  // namespace h5mount::view
