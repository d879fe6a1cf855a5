// Writes fractal heaps as the specification describes them: a root direct block, or indirect blocks over
// direct ones.
#pragma once

#include "memory_file.h"

namespace h5mount::test {

struct HeapPlan {
  std::uint16_t id_length = 8;
  bool checksummed = true;
  std::uint16_t width = 2;
  std::uint64_t start_size = 64;
  std::uint64_t max_direct = 128;
  std::uint16_t max_bits = 16;
  std::uint32_t max_managed = 100;
  std::uint64_t huge_btree = format::kUndefinedAddress;
  // A deflate pipeline that every filter mask skips: the reader must use size and mask, and not change the
  // bytes.
  bool filtered = false;
};

class HeapBuilder {
 public:
  HeapBuilder(Writer& writer, const HeapPlan& plan) : w_(writer), plan_(plan) {
    address_ = w_.here();
    w_.zeros(header_bytes());
  }

  std::uint64_t address() const { return address_; }
  std::size_t offset_width() const { return (plan_.max_bits + 7U) / 8; }
  std::uint64_t overhead() const {
    return 4 + 1 + w_.sizes.offsets + offset_width() + (plan_.checksummed ? 4 : 0);
  }

  // A block whose objects' bytes are `fill`, `fill` + 1, …
  std::uint64_t direct(std::uint64_t heap_offset, std::uint64_t size, std::uint8_t fill) {
    const std::uint64_t start = w_.here();
    const std::string name = "direct" + std::to_string(heap_offset);
    w_.mark(name);
    prefix("FHDB", heap_offset, name);
    const std::uint64_t hole = w_.here();
    if (plan_.checksummed) w_.uint(0, 4);
    while (w_.here() < start + size) w_.uint(fill++, 1);
    if (plan_.checksummed) w_.patch(hole, lookup3_checksum(ByteSpan(w_.bytes).subspan(start)), 4);
    return start;
  }

  struct Entry {
    std::uint64_t address = format::kUndefinedAddress;
    std::uint64_t size = 0;  // of a direct block
    bool direct = true;
  };
  std::uint64_t indirect(std::uint64_t heap_offset, const std::vector<Entry>& entries) {
    const std::uint64_t start = w_.here();
    const std::string name = "indirect" + std::to_string(heap_offset);
    w_.mark(name);
    prefix("FHIB", heap_offset, name);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      w_.mark(name + "_child" + std::to_string(i));
      w_.address(entries[i].address);
      if (!plan_.filtered || !entries[i].direct) continue;
      w_.length(entries[i].size);
      w_.uint(1, 4);
    }
    w_.checksum_from(start);
    return start;
  }

  void header(std::uint64_t root, std::uint16_t rows, std::uint64_t root_size = 0) {
    Writer h(w_.sizes);
    h.text("FRHP");
    h.uint(0, 1);
    field(h, "id_length", plan_.id_length, 2);
    h.uint(plan_.filtered ? kPipelineBytes : 0, 2);
    field(h, "flags", plan_.checksummed ? 2 : 0, 1);
    h.uint(plan_.max_managed, 4);
    h.length(0);
    h.address(plan_.huge_btree);
    h.length(0);
    h.address(format::kUndefinedAddress);
    for (int i = 0; i < 8; ++i) h.length(0);
    field(h, "width", plan_.width, 2);
    field(h, "start_size", plan_.start_size, w_.sizes.lengths);
    field(h, "max_direct", plan_.max_direct, w_.sizes.lengths);
    field(h, "max_bits", plan_.max_bits, 2);
    h.uint(1, 2);
    field(h, "root", root, w_.sizes.offsets);
    field(h, "rows", rows, 2);
    if (plan_.filtered) pipeline(h, root_size);
    h.checksum_from(0);
    std::ranges::copy(h.bytes, w_.bytes.begin() + static_cast<std::ptrdiff_t>(address_));
    w_.sums[address_ + h.bytes.size() - 4] = address_;
  }

  std::vector<std::byte> managed_id(std::uint64_t offset, std::uint64_t length) const {
    Writer id;
    id.uint(0, 1);
    id.uint(offset, offset_width());
    id.uint(length, 1);
    id.bytes.resize(plan_.id_length);
    return id.bytes;
  }

 private:
  static constexpr std::uint64_t kPipelineBytes = 2 + 2 + 2 + 2 + 4;

  std::uint64_t header_bytes() const {
    return 9 + 1 + 4 + 12U * w_.sizes.lengths + 3U * w_.sizes.offsets + 2 + 2 + 2 + 2 + 4 +
           (plan_.filtered ? w_.sizes.lengths + 4U + kPipelineBytes : 0);
  }
  void field(Writer& h, const std::string& name, std::uint64_t value, std::size_t bytes) {
    w_.marks[name] = address_ + h.here();
    h.uint(value, bytes);
  }
  static void pipeline(Writer& h, std::uint64_t root_size) {
    h.length(root_size);
    h.uint(1, 4);  // mask: the one filter was not applied
    h.uint(2, 1);  // message version
    h.uint(1, 1);
    h.uint(1, 2);  // deflate
    h.uint(0, 2);
    h.uint(1, 2);
    h.uint(6, 4);
  }
  void prefix(std::string_view signature, std::uint64_t heap_offset, const std::string& name) {
    w_.text(signature);
    w_.uint(0, 1);
    w_.mark(name + "_heap");
    w_.address(address_);
    w_.mark(name + "_offset");
    w_.uint(heap_offset, offset_width());
  }

  Writer& w_;
  HeapPlan plan_;
  std::uint64_t address_;
};

}  // namespace h5mount::test
