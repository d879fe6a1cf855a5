// Segments: which bytes of one source have come or are under way, without overlaps, so that readers join what
// is asked for already. All sources of a client share a bound (ClientParts::kMaxKeptBytes): first to be
// dropped is what was read to its end, then what was used least recently. What was asked for and is not read
// yet stays, unless somebody waits for other bytes. Threads: any.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cache/disk_object.h"
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

  // Whether the range has come or is under way, and whether for somebody who had not asked for it (Ahead).
  enum class Found : std::uint8_t { There, Ahead, Missing };
  Found find(ByteRange range);
  // The segments of a read, in order. None is dropped as long as this lives.
  class Covered {
   public:
    explicit Covered(ClientParts& client) : client_(client) {}
    ~Covered() { release(); }
    Covered(Covered&&) = default;
    Covered& operator=(Covered&&) = delete;
    const std::vector<SegmentPtr>& parts() const { return parts_; }

   private:
    friend class Segments;
    void release();

    ClientParts& client_;
    std::vector<SegmentPtr> parts_;
  };
  // The segments that cover the range; if any is missing, the missing part of `wanted`, which contains it,
  // comes from the disk cache, or is asked for in requests of at most kMaxRequest.
  Covered cover(ByteRange range, ByteRange wanted);
  // Asks for what is missing of the ranges, neighbours in one request, as long as the bound allows without
  // dropping what was asked for before and is not read yet.
  void ask(std::span<const ByteRange> ranges, bool ahead);
  void add(std::uint64_t begin, const std::shared_ptr<const std::string>& bytes);

  // Waits for a segment of a Covered, of which `bytes` will be read. Errors: of its fetch.
  Result<std::shared_ptr<const std::string>> wait(const SegmentPtr& segment, std::uint64_t bytes);

 private:
  using Missing = std::vector<ByteRange>;
  Missing missing_in(ByteRange range) H5_REQUIRES(client_.mutex);
  bool is_there(ByteRange range) H5_REQUIRES(client_.mutex);
  std::vector<SegmentPtr> overlapping(ByteRange range) const H5_REQUIRES(client_.mutex);
  bool has(ByteRange range);
  bool is_free(std::uint64_t begin, std::uint64_t end) const H5_REQUIRES(client_.mutex);
  std::vector<SegmentPtr> make(const Missing& missing, bool ahead, bool urgent) H5_REQUIRES(client_.mutex);
  void make(const Missing& missing, bool ahead, bool urgent, std::vector<SegmentPtr>& out)
      H5_REQUIRES(client_.mutex);
  void start(const std::vector<SegmentPtr>& made, bool urgent);
  static void take(const FarObject& object, DiskObject* disk, const SegmentPtr& segment,
                   Result<std::string> bytes);
  void hold(const std::vector<SegmentPtr>& more, Covered& in) H5_REQUIRES(client_.mutex);
  void add_loaded(std::uint64_t begin, const std::string& bytes);
  static void note_read(ClientParts& client, const SegmentPtr& segment, std::uint64_t bytes)
      H5_REQUIRES(client.mutex);
  static void arrived(ClientParts& client, const SegmentPtr& segment,
                      const Result<std::shared_ptr<const std::string>>& bytes);

  const std::shared_ptr<FarObject> object_;
  ClientParts& client_;
  const std::uint64_t size_;
  const std::shared_ptr<DiskObject> disk_;
  std::map<std::uint64_t, SegmentPtr> by_begin_ H5_GUARDED_BY(client_.mutex);
};

}  // namespace h5mount::remote
