// The layout of a TIFF file of a dataset, and the bytes in it that are not the dataset's:
//
//   0             header: byte order, version, offset of the first directory
//   64            values of the directories that do not fit in them, the same for all
//   4096          the dataset's image: the pages one after the other, each one strip
//   directories   one for each page, all of one length, at a multiple of 8
//
// The image starts at a page boundary and does not move when the dataset grows. Its size follows from the
// dataset's shape and type alone: a directory reserves space for a palette whether there is one or not.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "h5mount/object/object.h"

namespace h5mount::view {

struct TiffLayout {
  static constexpr std::uint64_t kImage = 4096;

  bool big = false;  // offsets are of 8 bytes
  bool big_endian = false;
  std::uint32_t width = 0, height = 0;
  std::uint32_t samples = 1;  // of a pixel
  std::uint32_t bits = 8;     // of a sample
  std::uint32_t format = 1;   // of samples: 1 unsigned, 2 signed, 3 floating-point
  std::uint64_t pages = 0;
  std::uint64_t page_bytes = 0;       // of the image
  std::uint64_t directories = 0;      // offset of the first one
  std::uint64_t directory_bytes = 0;  // of one
  std::uint64_t size = 0;             // of the file

  // Whether a palette can define the meaning of its samples.
  bool may_be_indexed() const { return samples == 1 && bits == 8 && format == 1; }
  bool operator==(const TiffLayout&) const = default;
};

// Fails with UnsupportedFeature, and a short phrase as its text, for a dataset that is not an image, and with
// TooLarge if the result would be larger than a file can be.
Result<TiffLayout> tiff_layout(const object::DatasetDescription& dataset);

// The first kImage bytes. `palette`: red, green and blue of at most 256 colours, or empty.
std::string tiff_head(const TiffLayout& layout, ByteSpan palette);

// Appends the directory of a page.
void append_tiff_directory(const TiffLayout& layout, bool indexed, std::uint64_t page, std::string& out);

}  // namespace h5mount::view
