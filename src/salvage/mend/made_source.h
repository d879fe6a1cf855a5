// MadeSource: a file as salvage shows it. Addresses below the file's own end are the file's bytes, from its
// base address on, with some bytes laid over; structures that were made lie at some distance behind that end.
// Reads of lost bytes fail.
//
// Made are continuation blocks of object headers, lists of links, trees of chunks, and parts of the file
// without what is lost in them. They stand 2^46 bytes behind the end (a page, if addresses have fewer than 8
// bytes), as a file that was cut still names addresses behind its end, which must not lead to something that
// was made.
//
// Threads: reads from any thread; one thread makes it, before any other reads what it adds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "h5mount/io/read_target.h"
#include "h5mount/io/remarks.h"

namespace h5mount::salvage {

class MadeSource final : public io::ByteSource, public io::Remarks {
 public:
  // `base`: the offset in `file` of address 0; negative if the file's front is missing.
  MadeSource(std::shared_ptr<io::ByteSource> file, std::int64_t base) : file_(std::move(file)), base_(base) {
    end_ = own_end();
  }

  // ---- making

  // Structures that are made get addresses behind this one: the end that the file states, or that its
  // structures need.
  void begin_behind(std::uint64_t address, std::uint8_t size_of_offsets);
  // Puts `bytes` in the place of the file's bytes at `address`, or where the file has none.
  void lay_over(std::uint64_t address, std::vector<std::byte> bytes);
  // Adds bytes that were made and returns their address; nullopt if there is no room in the address space or
  // in the memory for them.
  std::optional<std::uint64_t> add(std::vector<std::byte> bytes);
  // Adds a part of the file, `bytes` from `address` on, in which the ranges `lost` are missing, counted from
  // the part's first byte, and returns its new address.
  std::optional<std::uint64_t> add_part(std::uint64_t address, std::uint64_t bytes,
                                        std::vector<ByteRange> lost, std::vector<std::byte> fill);
  // Adds `bytes` bytes that cannot be read, and returns their address.
  std::optional<std::uint64_t> lost(std::uint64_t bytes);
  void remark_on(std::uint64_t address, std::string text) {
    remarks_[address] = &*texts_.insert(std::move(text)).first;
  }
  // The dataset with its header at `address` has bytes whose reading is an error.
  void note_missing(std::uint64_t address) { missing_.insert(address); }
  // The remark on every object that has none of its own.
  void remark_on_all(std::string text) { general_ = std::move(text); }

  // The number of the file's bytes from address 0 on.
  std::uint64_t own_end() const {
    const auto size = static_cast<std::int64_t>(file_->size());
    return size > base_ ? static_cast<std::uint64_t>(size - base_) : 0;
  }

  // ---- a ByteSource

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    return io::fill_whole(offset, out, [&](io::ReadTarget& to) { return fill_from(offset, to); });
  }
  std::uint64_t size() const override { return end_; }
  std::uint64_t stored_bytes() const override { return file_->stored_bytes() + made_bytes_; }
  void will_read(std::span<const ByteRange> ranges) const override;
  bool far() const override { return file_->far(); }
  std::size_t block_bytes() const override { return file_->block_bytes(); }
  io::SourceState& state() override { return file_->state(); }
  std::string name() const override { return file_->name(); }
  std::optional<std::string> remark(std::uint64_t address) const override;
  bool lacks_bytes(std::uint64_t address) const override { return missing_.contains(address); }

 private:
  Status fill_from(std::uint64_t offset, io::ReadTarget& to) const;
  struct Segment {
    std::uint64_t bytes = 0;
    std::optional<std::vector<std::byte>> made;  // nullopt: the segment is a part of the file
    std::uint64_t address = 0;                   // the part's address in the file
    std::vector<ByteRange> lost;                 // ascending
    std::vector<std::byte> fill;  // repeated over the lost ranges; if empty, reading them is an error
  };
  std::uint64_t file_offset(std::uint64_t address) const {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(address) + base_);
  }
  std::optional<std::uint64_t> place(std::uint64_t bytes);
  // Fill the next `bytes` bytes of `to`, at most `left`.
  Status read_own(std::uint64_t address, std::size_t bytes, io::ReadTarget& to) const;
  Status read_segment(const Segment& segment, std::uint64_t start, std::uint64_t at, std::size_t bytes,
                      io::ReadTarget& to) const;

  const std::shared_ptr<io::ByteSource> file_;
  const std::int64_t base_;
  std::uint64_t end_ = 0;  // end of the address space
  std::uint64_t made_at_ = ~std::uint64_t{0};
  std::uint64_t limit_ = 0;  // addresses that can be stored are below this
  std::uint64_t made_bytes_ = 0;
  std::map<std::uint64_t, std::vector<std::byte>> over_;
  std::map<std::uint64_t, Segment> segments_;
  std::unordered_set<std::string> texts_;  // the remarks' texts, each once, as most are equal
  std::unordered_map<std::uint64_t, const std::string*> remarks_;
  std::unordered_set<std::uint64_t> missing_;
  std::optional<std::string> general_;
};

}  // namespace h5mount::salvage
