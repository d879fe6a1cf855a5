// A file in memory that a test writes while it is open: its bytes, its times, and a hook before each read.
// Its times lie in 1970, so that it was not written lately, unless a test needs others. Threads: what writes
// may be called while others read, but for `on_read`.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "support/stamped_source.h"

namespace h5mount::test {

class WrittenSource final : public StampedSource {
 public:
  explicit WrittenSource(std::vector<std::byte> bytes) { write(std::move(bytes)); }

  void write(std::vector<std::byte> bytes) {
    write_silently(std::move(bytes));
    touch();
  }
  void write_byte(std::uint64_t offset, std::uint8_t value) {
    write_byte_silently(offset, value);
    touch();
  }
  // Changes bytes before the file's time changes.
  void write_silently(std::vector<std::byte> bytes) {
    auto written = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    const std::lock_guard lock(mutex_);
    bytes_.swap(written);
  }
  void write_byte_silently(std::uint64_t offset, std::uint8_t value) {
    std::vector<std::byte> bytes = *now();
    bytes.at(offset) = std::byte{value};
    write_silently(std::move(bytes));
  }

  void touch(std::int64_t nanoseconds = 1'000'000'000) {
    change([=](io::SourceStamp& stamp) { stamp.modified += nanoseconds; });
  }
  void touch_at(std::int64_t time) {
    change([=](io::SourceStamp& stamp) { stamp.modified = time; });
  }
  void touch_now() {
    touch_at(std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
  }
  // Changes the ctime only; with `explained` also the inode state that explains it.
  void change_inode(bool explained) {
    change([=](io::SourceStamp& stamp) { ++stamp.changed, stamp.attributes += explained ? 1 : 0; });
  }
  // Another file takes its name.
  void replace() {
    change([](io::SourceStamp& stamp) { stamp.replaced = true; });
    touch();
  }

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    if (on_read) on_read();
    const auto bytes = now();
    if (offset > bytes->size() || out.size() > bytes->size() - offset)
      return fail(Error(ErrorCode::Truncated, "WrittenSource", "bytes", offset));
    std::copy_n(bytes->begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  }
  std::uint64_t size() const override { return now()->size(); }
  Result<io::SourceStamp> stamp() override {
    ++checks;
    const std::lock_guard lock(mutex_);
    io::SourceStamp stamp = stamp_;
    stamp.size = bytes_->size();
    stamp.sum = static_cast<std::uint64_t>(stamp.modified);
    return stamp;
  }
  std::string name() const override { return "written"; }

  std::atomic<int> checks = 0;  // calls of `stamp`
  std::function<void()> on_read;

 private:
  std::shared_ptr<const std::vector<std::byte>> now() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  template <class Change>
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    change(stamp_);
  }

  mutable std::mutex mutex_;
  std::shared_ptr<const std::vector<std::byte>> bytes_;
  io::SourceStamp stamp_{.modified = 1'000'000'000};
};

}  // namespace h5mount::test
