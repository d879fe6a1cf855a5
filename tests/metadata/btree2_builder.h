// Writes version 2 B-trees of 8-byte records (a key, little-endian) as the specification describes them.
// Nodes are not padded to their size: readers must not read unused bytes.
#pragma once

#include "memory_file.h"

namespace h5mount::test {

struct BTree2Plan {
  std::uint8_t type = 5;
  std::uint32_t node_size = 512;
  std::uint16_t record_size = 8;
  std::uint16_t depth = 0;
  std::uint64_t leaf_records = 10;  // in each leaf
  std::uint64_t children = 4;       // of each internal node
  bool shared = false;              // all children of a node are the same one
};

class BTree2Builder {
 public:
  BTree2Builder(Writer& writer, const BTree2Plan& plan) : w_(writer), plan_(plan) {}

  // Writes a tree of the keys 1, 3, 5, …; returns the header's address.
  std::uint64_t build() {
    const Child root = node(plan_.depth);
    return header(root.address, root.records, root.total);
  }

  std::uint64_t header(std::uint64_t root, std::uint64_t records, std::uint64_t total) {
    const std::uint64_t start = w_.here();
    w_.mark("header");
    w_.text("BTHD");
    w_.uint(0, 1);
    w_.mark("type");
    w_.uint(plan_.type, 1);
    w_.mark("node_size");
    w_.uint(plan_.node_size, 4);
    w_.mark("record_size");
    w_.uint(plan_.record_size, 2);
    w_.mark("depth");
    w_.uint(plan_.depth, 2);
    w_.uint(100, 1);
    w_.uint(40, 1);
    w_.mark("root_address");
    w_.address(root);
    w_.mark("root_records");
    w_.uint(records, 2);
    w_.length(total);
    w_.checksum_from(start);
    return start;
  }

  std::uint64_t keys() const { return next_ / 2; }

 private:
  struct Child {
    std::uint64_t address, records, total;
  };

  std::uint64_t next_key() { return std::exchange(next_, next_ + 2); }

  static std::size_t width_of(std::uint64_t value) {
    std::size_t width = 1;
    while (value >= 256) value /= 256, ++width;
    return width;
  }
  std::uint64_t most(unsigned level) const {
    if (level == 0) return (plan_.node_size - 10) / plan_.record_size;
    const std::uint64_t pointer = w_.sizes.offsets + width_of(most(0)) + total_width(level);
    return (plan_.node_size - 10 - pointer) / (plan_.record_size + pointer);
  }
  std::uint64_t most_total(unsigned level) const {
    return level == 0 ? most(0) : (most(level) + 1) * most_total(level - 1) + most(level);
  }
  std::size_t total_width(unsigned level) const { return level < 2 ? 0 : width_of(most_total(level - 1)); }

  Child node(unsigned level) {
    if (level == 0) return leaf();
    std::vector<Child> below;
    std::vector<std::uint64_t> records;
    for (std::uint64_t i = 0; i < plan_.children; ++i) {
      if (i > 0) records.push_back(next_key());
      below.push_back(plan_.shared && i > 0 ? below.front() : node(level - 1));
    }
    Child out{w_.here(), records.size(), records.size()};
    w_.text("BTIN");
    w_.uint(0, 1);
    w_.uint(plan_.type, 1);
    for (const std::uint64_t key : records) w_.uint(key, 8);
    const std::string name = "child" + std::to_string(level) + "_";
    for (std::size_t i = 0; i < below.size(); ++i) {
      w_.mark(name + std::to_string(i));
      w_.address(below[i].address);
      w_.mark(name + std::to_string(i) + "_records");
      w_.uint(below[i].records, width_of(most(0)));
      w_.uint(below[i].total, total_width(level));
      out.total += below[i].total;
    }
    w_.checksum_from(out.address);
    return out;
  }

  Child leaf() {
    const Child out{w_.here(), plan_.leaf_records, plan_.leaf_records};
    const std::string name = "leaf" + std::to_string(leaves_++);
    w_.mark(name);
    w_.text("BTLF");
    w_.mark(name + "_version");
    w_.uint(0, 1);
    w_.mark(name + "_type");
    w_.uint(plan_.type, 1);
    for (std::uint64_t i = 0; i < plan_.leaf_records; ++i) w_.uint(next_key(), 8);
    w_.checksum_from(out.address);
    return out;
  }

  Writer& w_;
  BTree2Plan plan_;
  std::uint64_t next_ = 1;
  std::uint64_t leaves_ = 0;
};

}  // namespace h5mount::test
