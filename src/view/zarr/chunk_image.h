// ChunkImage: a box of a dataset's elements, a chunk of a Zarr array, as a dataset of its own: row-major,
// padded with zeros where it exceeds the extent. A box that is a chunk of the file or a run of the image is
// read without a copy. The dataset may be a padded one (dataset/padded_dataset.h).
#pragma once

#include "h5mount/view/zarr.h"

namespace h5mount::view {

struct StoredCodec;

// The dataset that the file has of one that may be padded.
DatasetReaderPtr without_padding(const DatasetReaderPtr& dataset);

class ChunkImage final : public dataset::DatasetReader {
 public:
  // `number`: below the array's chunk_count.
  ChunkImage(DatasetReaderPtr dataset, const ZarrArray& array, std::uint64_t number);

  static object::DatasetDescription describe(const object::DatasetDescription& dataset,
                                             const ZarrArray& array);

  // The dataset that the file has, without padding.
  const DatasetReader& dataset() const { return *stored_; }
  // The number of this box among the chunks of that dataset, if the boxes are these; nullopt if elements of
  // the array in it are padding, which the stored chunk does not have.
  std::optional<std::uint64_t> stored_number() const { return stored_number_; }
  // Whether all elements of the array in the box are padding.
  bool all_padding() const { return all_padding_; }
  // The bytes of the dataset's image that the box has, if they are one range of it.
  std::optional<dataset::ByteRange> image_range() const;
  // Like Derivation::stale_since.
  std::vector<dataset::ByteRange> stale_since(const ChunkImage& before,
                                              std::span<const dataset::ByteRange> stale) const;

  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
              dataset::Pieces& out) const override;
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override;

  std::optional<Error> problem() const override { return dataset_->problem(); }

 private:
  Status read_run(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
                  dataset::Pieces& out) const;
  Status read_rows(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const;

  // A row is a contiguous run of the box: its last dimension and those that it covers whole.
  DatasetReaderPtr dataset_, stored_;
  std::optional<std::uint64_t> stored_number_;
  std::uint64_t element_size_;
  bool whole_ = false;  // a chunk of the file
  bool all_padding_ = false;
  std::vector<std::uint64_t> dims_;            // of the dataset, folded
  std::vector<std::uint64_t> chunk_, origin_;  // of the box, folded
  std::vector<std::uint64_t> extent_;          // of the box within the dataset's extent
  std::uint64_t row_bytes_ = 0, rows_ = 1;
};

// The file that holds the stored bytes of an HDF5 chunk. `chunk`: of a dataset that has a codec, and chunks
// of the array's shape.
Result<ComputedFilePtr> make_stored_chunk(std::shared_ptr<const ChunkImage> chunk, const StoredCodec& codec,
                                          RequestBudget& budget);

}  // namespace h5mount::view
