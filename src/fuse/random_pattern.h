// RandomPattern: which pages to store in the kernel before they are requested, for a reader at random places.
//
// A stored page costs a fraction of a request, but nothing tells whether it is used: the kernel answers reads
// of it alone. So one page in kProbeEvery is left out of what is stored. A request for such a probe shows
// what happened to its neighbours; the share of requested probes is the share of used pages. After a first
// few windows, pages are stored only while at least half of the probes were requested.
//
// The pages around a request come first, then the rest of the image in its order; never more bytes than were
// requested so far. Pure arithmetic. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace h5mount::fuse {

class RandomPattern {
 public:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kWindow = 64U << 10;     // aligned; the unit that is stored
  static constexpr std::uint64_t kProbeEvery = 8;         // pages of a window: the last is the probe
  static constexpr std::uint64_t kSureAfter = 32;         // requests
  static constexpr std::uint64_t kFirstWindows = 16;      // stored before there is evidence
  static constexpr std::uint64_t kMaxImage = 1ULL << 30;  // larger images: the tables would be too large

  explicit RandomPattern(std::uint64_t image_bytes) : image_bytes_(image_bytes) {}

  // Page-aligned ranges of the image, in order, that no request and no earlier batch contained.
  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  struct Noted {
    Ranges store;              // empty: nothing now
    std::uint64_t probes = 0;  // left out of `store`
    bool probe_used = false;   // this request was for a probe
  };
  // Notes a request that began no forward read and is part of no stride.
  Noted note(std::uint64_t offset, std::uint64_t length);

 private:
  enum class State : std::uint8_t { Unknown, Present, Probe };
  std::uint64_t window_count() const { return (states_.size() + kPagesPerWindow - 1) / kPagesPerWindow; }
  bool may_store() const;
  std::optional<std::uint64_t> next_window(std::uint64_t near);
  bool has_unknown(std::uint64_t window) const;
  void take(std::uint64_t window, Noted& out);

  static constexpr std::uint64_t kPagesPerWindow = kWindow / kPage;
  const std::uint64_t image_bytes_;
  std::vector<State> states_;  // of pages; empty until the first request
  std::uint64_t requests_ = 0, asked_bytes_ = 0, stored_bytes_ = 0;
  std::uint64_t windows_ = 0, probes_ = 0, probes_used_ = 0;
  std::uint64_t rest_ = 0;  // windows before it have no unknown pages
};

}  // namespace h5mount::fuse
