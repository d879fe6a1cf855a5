// A made file in memory as a source of bytes. It can be made again while it is read: the new image takes the
// place of the old one, and the source's stamp tells so. Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/io/read_target.h"
#include "h5mount/join/made_file.h"

namespace h5mount::join {

class ImageSource final : public io::ByteSource {
 public:
  ImageSource();  // without bytes
  // Called when the source's stamp is asked for: somebody wants to know whether it is another one.
  // `watchable`: the paths by which inotify can watch what it is made of. Both to be set before the first
  // use.
  void ask(std::function<void()> looked, std::function<std::vector<std::string>()> watchable);
  ~ImageSource() override;

  // From now on reads return the bytes of `image`, and the stamp is another one for good.
  void replace(SparseImage image);

  // Bytes between segments are zeros. Fails with Truncated beyond the end of the newest image.
  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    return io::fill_whole(offset, out, [&](io::ReadTarget& to) { return fill_from(offset, to); });
  }
  Result<std::size_t> read_cached(std::uint64_t offset, MutableByteSpan out) const override;
  // Of the newest image.
  std::uint64_t size() const override;
  // What is in memory, without the gaps.
  std::uint64_t stored_bytes() const override;
  io::SourceState& state() override;
  // None: the bytes are in no file.
  std::optional<Place> place_of(std::uint64_t offset, std::uint64_t length) const override;
  std::string name() const override { return "joined"; }

 private:
  class State;
  using ImagePtr = std::shared_ptr<const SparseImage>;
  ImagePtr newest() const;
  Status fill_from(std::uint64_t offset, io::ReadTarget& to) const;

  mutable Mutex mutex_;
  ImagePtr image_ H5_GUARDED_BY(mutex_);
  std::uint64_t version_ H5_GUARDED_BY(mutex_) = 0;
  const std::unique_ptr<State> state_;
};

}  // namespace h5mount::join
