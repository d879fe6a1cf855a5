#include "h5mount/base/foreign_format.h"

#include <algorithm>
#include <fstream>
#include <span>

#include "h5mount/base/text.h"

namespace h5mount {
namespace {

using namespace std::string_view_literals;

struct ForeignFormat {
  std::size_t offset;
  std::string_view magic;
  std::string_view what;  // completes "is …"
};

// The first match counts.
constexpr ForeignFormat kFormats[] = {
    {0, "\x89HDF\n"sv, "an HDF5 file that a transfer as text has damaged: transfer it again as binary"},
    {0, "\x09HDF"sv, "an HDF5 file that a transfer of 7 bits has damaged: transfer it again as binary"},
    {0, "\xC2\x89HDF"sv, "an HDF5 file that was recoded as text: transfer it again as binary"},
    {0, "\xEF\xBF\xBDHDF"sv, "an HDF5 file that was recoded as text: transfer it again as binary"},
    {0, "CDF\x01"sv, "a netCDF-3 file: convert it with nccopy -k nc4"},
    {0, "CDF\x02"sv, "a netCDF-3 file (64-bit offsets): convert it with nccopy -k nc4"},
    {0, "CDF\x05"sv, "a netCDF-3 file (64-bit data): convert it with nccopy -k nc4"},
    {0, "\x0E\x03\x13\x01"sv, "an HDF4 file: convert it with h4toh5"},
    {0, "MATLAB 5.0 MAT-file"sv, "a MATLAB file of version 5: save it with save -v7.3"},
    {0, "version https://git-lfs"sv, "a Git LFS pointer, not the data: run git lfs pull"},
    {0, "/annex/objects/"sv, "a git-annex pointer, not the data: run git annex get"},
    {0, "outs:\n- "sv, "a DVC pointer, not the data: run dvc pull"},
    {0, "\x1F\x8B"sv, "compressed with gzip: decompress it first (gunzip)"},
    {0, "BZh"sv, "compressed with bzip2: decompress it first (bunzip2)"},
    {0,
     "\xFD"
     "7zXZ\0"sv,
     "compressed with xz: decompress it first (unxz)"},
    {0, "\x28\xB5\x2F\xFD"sv, "compressed with zstd: decompress it first (unzstd)"},
    {0, "\x04\x22\x4D\x18"sv, "compressed with lz4: decompress it first (unlz4)"},
    {0, "PK\x03\x04"sv, "a zip archive (.npz, zipped Zarr, .xlsx are such): unpack it first (unzip)"},
    {0, "PK\x05\x06"sv, "an empty zip archive"},
    {0, "7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive: unpack it first (7z x)"},
    {257, "ustar"sv, "a tar archive: unpack it first (tar -xf)"},
    {0, "\x93NUMPY"sv, "a NumPy array (.npy): read it with numpy.load"},
    {0, "PAR1"sv, "a Parquet file: read it with pyarrow or DuckDB"},
    {0, "ARROW1"sv, "an Arrow (Feather) file: read it with pyarrow"},
    {0, "SIMPLE  ="sv, "a FITS file: read it with astropy or CFITSIO"},
    {0, "GRIB"sv, "a GRIB file: convert it to netCDF-4 with grib_to_netcdf or cdo -f nc4 copy"},
    {0, "BUFR"sv, "a BUFR file: read it with ecCodes"},
    {0, "root\0"sv, "a ROOT file: read it with uproot"},
    {0, "II*\0"sv, "a TIFF image"},
    {0, "MM\0*"sv, "a TIFF image"},
    {0, "II+\0"sv, "a BigTIFF image"},
    {0, "MM\0+"sv, "a BigTIFF image"},
    {0, "\x89PNG"sv, "a PNG image"},
    {0, "\xFF\xD8\xFF"sv, "a JPEG image"},
    {0, "%PDF-"sv, "a PDF document"},
    {0, "#ASDF"sv, "an ASDF file: read it with the asdf library"},
    {0, "SQLite format 3\0"sv, "an SQLite database: read it with sqlite3"},
};

// Documents, which may begin with white space. The patterns are in lower case.
constexpr ForeignFormat kDocuments[] = {
    {0, "<!doctype html"sv,
     "an HTML page, most likely an error or login page in place of the file: download it again"},
    {0, "<html"sv,
     "an HTML page, most likely an error or login page in place of the file: download it again"},
    {0, "<?xml"sv,
     "an XML document, perhaps a server's error message in place of the file: see what it says"},
    {0, "<error>"sv,
     "an XML document, perhaps a server's error message in place of the file: see what it says"},
    {0, "{\""sv, "JSON text, perhaps a server's error message in place of the file: see what it says"},
    {0, "[{"sv, "JSON text, perhaps a server's error message in place of the file: see what it says"},
};

std::optional<std::string> matched(std::span<const ForeignFormat> table, std::string_view head) {
  const auto found = std::ranges::find_if(table, [&](const ForeignFormat& format) {
    return head.size() >= format.offset && head.substr(format.offset).starts_with(format.magic);
  });
  return found == table.end() ? std::nullopt : std::optional<std::string>(found->what);
}

// The start of a document in lower case and without leading white space, in which writers differ.
std::string document_start(std::string_view head) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  constexpr std::size_t kEnough = 64;
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  std::string out;
  for (const char c : head) {
    const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    const bool wanted = !space || (!out.empty() && out.front() == '<');
    if (wanted) out += to_lower(c);
    if (out.size() == kEnough) break;
  }
  return out;
}

}  // namespace

std::optional<std::string> foreign_format(std::string_view head) {
  if (auto found = matched(kFormats, head)) return found;
  return matched(kDocuments, document_start(head));
}

std::optional<std::string> foreign_content(std::string_view head) {
  if (head.empty()) return "empty: a download or copy that was not begun?";
  if (std::ranges::all_of(head, [](char c) { return c == '\0'; })) {
    return "nothing but zeros" + std::string(head.size() < kForeignHead ? "" : " at its beginning") +
           ": a download or copy that was not finished, or a file system that lost the data?";
  }
  return foreign_format(head);
}

std::optional<std::string> foreign_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string head(kForeignHead, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return foreign_content(head);
}

}  // namespace h5mount
