// Bounds the memory of one listing of links or attributes. Names in a valid file do not overlap, so together
// they are no larger than the file (somewhat larger if a heap is compressed). A hostile file can refer
// thousands of entries to the same long name.
#pragma once

#include "h5mount/metadata/file_metadata.h"

namespace h5mount::object {

class ListingBudget {
 public:
  explicit ListingBudget(const metadata::FileMetadata& file)
      : left_(kFree + kPerFileByte * file.source()->stored_bytes()) {}

  // Returns false once more than the budget was taken.
  bool take(std::size_t bytes) {
    over_ = over_ || bytes > left_;
    if (!over_) left_ -= bytes;
    return !over_;
  }
  Status status(std::string_view structure) const {
    if (!over_) return {};
    return fail(Error(ErrorCode::LimitExceeded,
                      std::string(structure) + ": entries larger than the file that holds them"));
  }

 private:
  static constexpr std::uint64_t kFree = 64U << 20;
  static constexpr std::uint64_t kPerFileByte = 16;  // names compress far less than this
  std::uint64_t left_;
  bool over_ = false;
};

}  // namespace h5mount::object
