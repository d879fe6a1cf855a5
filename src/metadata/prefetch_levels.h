// Levels: structures that a far source is told of together, a level at a time. What is decoded of a structure
// that has come adds those that it leads to, which make the next level. `prefetch` is made of it, and so are
// its parts (prefetch_parts.h). What has been added must stay alive until `run` returns. Threads: one.
#pragma once

#include <functional>
#include <span>
#include <unordered_set>
#include <vector>

#include "h5mount/base/request_budget.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

inline constexpr std::string_view kReadAhead = "structure that is read ahead";

class Levels {
 public:
  // Adds the structures that a decoded one leads to.
  using Decode = std::function<void(const MetadataBlock&)>;

  Levels(const FileMetadata& file, RequestBudget& budget)
      : file_(file), sizes_(file.sizes()), budget_(budget) {}
  Levels(const Levels&) = delete;
  Levels& operator=(const Levels&) = delete;

  const FileMetadata& file() const { return file_; }
  format::FileSizes sizes() const { return sizes_; }
  std::uint64_t file_bytes() const { return file_.source()->size(); }
  // Charges work to the request; false: it may do no more.
  bool spend(std::uint64_t steps) { return budget_.spend(steps).has_value(); }

  // Adds a structure; `decode` is null if it leads nowhere. One that was met before is left out, as it may
  // lead back to itself.
  void expect(std::uint64_t address, std::uint64_t bytes, Decode decode, Among among = Among::Structures);
  // The same for one that was met before, of which fewer bytes were read.
  void expect_more(std::uint64_t address, std::uint64_t bytes, Decode decode,
                   Among among = Among::Structures);
  // Calls `decode` with the `needed` bytes that the structure turned out to have: now, or in the next level
  // if `block` has fewer.
  void with(const MetadataBlock& block, std::uint64_t address, std::uint64_t needed, const Decode& decode);

  void run(unsigned levels);

 private:
  void run_levels(unsigned levels);
  struct Place {
    std::uint64_t address, bytes;
    Decode decode;
    Among among;
  };
  void tell(const std::vector<Place>& level) const;

  const FileMetadata& file_;
  const format::FileSizes sizes_;
  RequestBudget& budget_;
  std::vector<Place> next_;
  std::unordered_set<std::uint64_t> seen_;
  std::uint64_t told_ = 0;  // bytes that the source was told of
};

// Tells the file's source of structures, which are alone in their pages if there are pages, and of data,
// which are not.
void tell_source(const FileMetadata& file, std::span<const ByteRange> structures,
                 std::span<const ByteRange> data);

}  // namespace h5mount::metadata
