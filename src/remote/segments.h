// Segments: which bytes of one source have come or are under way, without overlaps. All sources of a client
// share a bound; the segments that were used least recently are dropped. Threads: any.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "disk_object.h"
#include "far_object.h"

namespace h5mount::remote {

class Segments {
 public:
  // `disk`: the object in the disk cache; null if there is no such cache.
  Segments(std::shared_ptr<FarObject> object, std::uint64_t size, std::shared_ptr<DiskObject> disk)
      : object_(std::move(object)), client_(object_->client()), size_(size), disk_(std::move(disk)) {}
  ~Segments();
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  // The segments that cover the range, in order. Missing bytes come from the disk cache, or are asked for, in
  // requests of at most kMaxRequest. A short range is extended to whole blocks, as adjacent bytes are often
  // wanted next. `missed`: whether bytes had to be asked for.
  std::vector<SegmentPtr> cover(ByteRange range, bool& missed);
  // Asks for the missing bytes of the ranges, adjacent ones in one request, as long as the bound allows it.
  void ask(std::span<const ByteRange> ranges, bool ahead);
  void add(std::uint64_t begin, const std::shared_ptr<const std::string>& bytes);

  // Waits for the segment. Errors: of its fetch.
  Result<std::shared_ptr<const std::string>> wait(const SegmentPtr& segment);

 private:
  using Missing = std::vector<ByteRange>;
  Missing missing_in(ByteRange range) H5_REQUIRES(client_.mutex);
  bool is_there(ByteRange range) H5_REQUIRES(client_.mutex);
  bool has(ByteRange range);
  bool is_free(std::uint64_t begin, std::uint64_t end) const H5_REQUIRES(client_.mutex);
  std::vector<SegmentPtr> make(const Missing& missing, bool ahead, bool urgent) H5_REQUIRES(client_.mutex);
  void start(const std::vector<SegmentPtr>& made, bool urgent);
  void load(ByteRange range);
  void add_loaded(std::uint64_t begin, const std::string& bytes);
  static void arrived(ClientParts& client, const SegmentPtr& segment,
                      const Result<std::shared_ptr<const std::string>>& bytes);

  const std::shared_ptr<FarObject> object_;
  ClientParts& client_;
  const std::uint64_t size_;
  const std::shared_ptr<DiskObject> disk_;
  std::map<std::uint64_t, SegmentPtr> by_begin_ H5_GUARDED_BY(client_.mutex);
};

}  // namespace h5mount::remote
