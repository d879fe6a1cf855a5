// The tags of GeoTIFF (OGC 19-008r4) and of GDAL that say where an image is. Pure; threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "h5mount/dataset/placement.h"

namespace h5mount::view {

inline constexpr std::uint16_t kGdalMetadata = 42112;

struct PlacedTag {
  std::uint16_t tag = 0;
  std::uint16_t type = 0;  // of TIFF's fields
  std::uint64_t count = 0;
  std::string bytes;  // in the file's byte order
};
// Those that all pages have in common, by their numbers; at most 1,200 bytes.
std::vector<PlacedTag> placed_tags(const dataset::Placement& placement, bool big_endian);
inline constexpr std::size_t kMostPlacedTags = 7;  // GDAL's metadata among them

// GDAL's metadata of one page, with the NUL at its end; empty: none. `dims`: of the dataset.
std::string page_metadata(const dataset::Placement& placement, std::span<const std::uint64_t> dims,
                          std::uint64_t page);
// The most bytes of those of any page.
std::uint64_t metadata_room(const dataset::Placement& placement);

}  // namespace h5mount::view
