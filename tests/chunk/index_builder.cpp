#include "chunk/index_builder.h"

#include <algorithm>

namespace h5mount::test {

namespace {

constexpr std::uint64_t kChunkEdge = 4;

struct Builder {
  const IndexCase& c;
  BuiltIndex& out;
  ByteWriter w;

  unsigned client() const { return (c.structured ? 2U : 0U) + (c.filtered ? 1U : 0U); }
  std::size_t section_bytes() const { return !c.structured ? 0 : c.filtered ? 32 : 8; }
  std::size_t element_bytes() const {
    return c.sizes.offsets + (client() == 0 ? 0 : c.size_width) + (client() == 1 ? 4 : 0) + section_bytes();
  }

  void sections(const chunk::ChunkRecord* r) {
    for (std::size_t i = 0; i < section_bytes(); ++i)
      w.bytes.push_back(r ? r->section_fields[i] : std::byte{0});
  }
  // An array's element; null: the fill element.
  void element(const chunk::ChunkRecord* r) {
    w.address(r ? r->address : format::kUndefinedAddress);
    if (client() != 0) w.uint(r ? r->stored_size : 0, c.size_width);
    if (client() == 1) w.uint(r ? r->filter_mask : 0, 4);
    sections(r);
  }

  const chunk::ChunkRecord* at(const Coordinates& scaled) const {
    const auto found = out.chunks.find(scaled);
    return found == out.chunks.end() ? nullptr : &found->second;
  }

  void choose_chunks() {
    if (!c.dims.empty()) {
      out.chunks = c.records;
      return;
    }
    std::uint64_t n = 0;
    for (const Coordinates& scaled : grid_coordinates(c.grid)) {
      const bool there = n >= c.first && (n - c.first) % c.step == 0;
      if (there) out.chunks[scaled] = make_record(n);
      ++n;
    }
  }
  chunk::ChunkRecord make_record(std::uint64_t n) const {
    chunk::ChunkRecord r;
    r.address = c.kind == format::ChunkIndexKind::Implicit ? 0 : 0x1000 + 7 * n % 0x8000;
    r.stored_size = client() != 0 ? 100 + n % 50 : out.geometry.chunk_bytes;
    r.filter_mask = client() == 1 || (c.kind == format::ChunkIndexKind::BTree1 && c.filtered)
                        ? static_cast<unsigned>(n % 3)
                        : 0;
    for (std::size_t i = 0; i < section_bytes(); ++i)
      r.section_fields.push_back(static_cast<std::byte>(n + i));
    return r;
  }

  void prefix(const char* signature, std::uint64_t header) {
    w.text(signature);
    w.uint(c.structured ? 1 : 0, 1);
    w.uint(client(), 1);
    w.address(header);
  }

  void single() {
    out.layout.address = 0x1000;
    out.layout.single_filtered = c.filtered;
    const chunk::ChunkRecord& r = out.chunks.begin()->second;
    out.layout.single_stored_size = r.stored_size;
    out.layout.single_filter_mask = r.filter_mask;
    out.layout.structured.single_section_fields = r.section_fields;
  }

  void implicit() {
    out.layout.address = 64;
    for (auto& [scaled, r] : out.chunks)
      r.address = 64 + number(scaled, c.max_grid) * out.geometry.chunk_bytes;
    w.bytes.resize(0x20000);
  }

  // Row-major over `extent`, whose first entry is not used.
  static std::uint64_t number(const Coordinates& scaled, const Coordinates& extent) {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < scaled.size(); ++i) n = n * (i == 0 ? 0 : extent[i]) + scaled[i];
    return n;
  }

  void btree1() {
    struct Pointer {
      Coordinates key;
      chunk::ChunkRecord record;
    };
    std::vector<Pointer> below;
    for (const auto& [scaled, r] : out.chunks) below.push_back({scaled, r});
    const std::size_t width = 5;
    Pointer end = below.back();  // the key behind the last chunk
    end.record = {};
    for (std::uint64_t& coordinate : end.key) ++coordinate;
    for (unsigned level = 0; level == 0 || below.size() > 1; ++level) {
      std::vector<Pointer> nodes;
      for (std::size_t i = 0; i < below.size(); i += width) {
        const std::size_t n = std::min(width, below.size() - i);
        nodes.push_back({below[i].key, {}});
        nodes.back().record.address = w.here();
        w.text("TREE");
        w.uint(1, 1);
        w.uint(level, 1);
        w.uint(n, 2);
        w.address(format::kUndefinedAddress);
        w.address(format::kUndefinedAddress);
        for (std::size_t k = 0; k <= n; ++k) {
          const Pointer& p = i + k < below.size() ? below[i + k] : end;
          w.uint(p.record.stored_size, 4);
          w.uint(p.record.filter_mask, 4);
          for (std::size_t d = 0; d < p.key.size(); ++d) w.uint(p.key[d] * out.layout.chunk_dims[d], 8);
          w.uint(0, 8);
          if (k < n) w.address(p.record.address);
        }
        w.bytes.resize(w.bytes.size() + 40, std::byte{0xEE});
      }
      below = std::move(nodes);
    }
    out.layout.address = below[0].record.address;
  }

  void btree2() {
    std::vector<const std::pair<const Coordinates, chunk::ChunkRecord>*> records;
    for (const auto& r : out.chunks) records.push_back(&r);
    const std::size_t record_bytes = element_bytes() + 8 * c.grid.size();
    const std::size_t header_bytes = 22 + c.sizes.offsets + 2 - 6 + c.sizes.lengths + 4;
    const std::uint64_t root = w.here() + header_bytes;
    const std::size_t node_bytes = 10 + record_bytes * records.size();
    out.layout.address = w.here();
    w.text("BTHD");
    w.uint(c.structured ? 1 : 0, 1);
    w.uint(10 + client(), 1);
    w.uint(node_bytes, 4);
    w.uint(record_bytes, 2);
    w.uint(0, 2);
    w.uint(100, 1);
    w.uint(40, 1);
    w.address(root);
    w.uint(records.size(), 2);
    w.length(records.size());
    w.checksum_from(out.layout.address);
    w.bytes.resize(root);
    w.text("BTLF");
    w.uint(0, 1);
    w.uint(10 + client(), 1);
    for (const auto* r : records) {
      w.address(r->second.address);
      if (client() != 0) w.uint(r->second.stored_size, c.size_width);
      if (client() == 1) w.uint(r->second.filter_mask, 4);
      for (const std::uint64_t s : r->first) w.uint(s, 8);
      sections(&r->second);
    }
    w.checksum_from(root);
  }

  void fixed_array() {
    std::uint64_t count = 1;
    for (const std::uint64_t n : c.max_grid) count *= n;
    std::vector<const chunk::ChunkRecord*> elements(count, nullptr);
    for (const auto& [scaled, r] : out.chunks) elements[number(scaled, c.max_grid)] = &r;
    const std::uint64_t header = w.here();
    out.layout.address = header;
    w.text("FAHD");
    w.uint(c.structured ? 1 : 0, 1);
    w.uint(client(), 1);
    w.uint(element_bytes(), 1);
    w.uint(c.page_bits, 1);
    w.length(count);
    w.address(header + 8 + c.sizes.lengths + c.sizes.offsets + 4);
    w.checksum_from(header);
    const std::uint64_t block = w.here();
    prefix("FADB", header);
    const std::uint64_t page = std::uint64_t{1} << c.page_bits;
    if (count <= page) {
      for (const auto* e : elements) element(e);
      w.checksum_from(block);
      return;
    }
    pages(block, elements, page, true);
  }

  // Writes the page bitmap (where it is stored in this block) and the pages of `elements`; a page without a
  // chunk stays uninitialised.
  static bool page_written(const std::vector<const chunk::ChunkRecord*>& elements, std::uint64_t first,
                           std::uint64_t page) {
    const std::uint64_t end = std::min<std::uint64_t>(elements.size(), first + page);
    return std::any_of(elements.begin() + static_cast<std::ptrdiff_t>(first),
                       elements.begin() + static_cast<std::ptrdiff_t>(end),
                       [](auto* e) { return e != nullptr; });
  }
  void pages(std::uint64_t block, const std::vector<const chunk::ChunkRecord*>& elements, std::uint64_t page,
             bool bitmap) {
    if (bitmap) {
      const std::uint64_t at = w.here();
      w.bytes.resize(at + ((elements.size() + page - 1) / page + 7) / 8);
      for (std::uint64_t p = 0; p * page < elements.size(); ++p)
        if (page_written(elements, p * page, page))
          w.bytes[at + p / 8] |= static_cast<std::byte>(0x80U >> (p % 8));
    }
    w.checksum_from(block);
    for (std::uint64_t first = 0; first < elements.size(); first += page) {
      const std::uint64_t start = w.here();
      const std::uint64_t end = std::min<std::uint64_t>(elements.size(), first + page);
      const bool written = page_written(elements, first, page);
      for (std::uint64_t i = first; i < end; ++i)
        if (written)
          element(elements[i]);
        else
          w.bytes.resize(w.bytes.size() + element_bytes(), std::byte{0xAB});
      if (written)
        w.checksum_from(start);
      else
        w.uint(0xABABABAB, 4);
    }
  }

  // Creation parameters of the extensible arrays built here.
  static constexpr unsigned kBits = 32, kIndexElements = 4, kMinElements = 16, kMinPointers = 4;

  void extensible_array() {
    const auto unlimited =
        static_cast<std::size_t>(std::ranges::find(c.max_grid, format::kUnlimited) - c.max_grid.begin());
    std::uint64_t highest = 0;
    std::map<std::uint64_t, const chunk::ChunkRecord*> elements;
    for (const auto& [scaled, r] : out.chunks) {
      Coordinates moved{scaled[unlimited]}, extent{0};
      for (std::size_t d = 0; d < scaled.size(); ++d)
        if (d != unlimited) moved.push_back(scaled[d]), extent.push_back(c.max_grid[d]);
      const std::uint64_t n = number(moved, extent);
      elements[n] = &r;
      highest = std::max(highest, n);
    }
    const auto take = [&](std::uint64_t first, std::uint64_t n) {
      std::vector<const chunk::ChunkRecord*> part(n, nullptr);
      for (auto it = elements.lower_bound(first); it != elements.end() && it->first < first + n; ++it)
        part[it->first - first] = it->second;
      return part;
    };
    const auto any = [&](std::uint64_t first, std::uint64_t n) {
      const auto it = elements.lower_bound(first);
      return it != elements.end() && it->first < first + n;
    };

    const std::uint64_t header = w.here();
    out.layout.address = header;
    const std::uint64_t index_block_field = header + 12 + 6 * std::uint64_t{c.sizes.lengths};
    const std::uint64_t header_end = index_block_field + c.sizes.offsets + 4;
    w.bytes.resize(header_end);

    std::vector<std::uint64_t> data_blocks, super_blocks;
    std::uint64_t first = kIndexElements;
    std::uint64_t blocks = 1, size = kMinElements;
    for (unsigned u = 0; u < 1 + kBits - 4; ++u) {
      const bool paged = size > (std::uint64_t{1} << c.page_bits);
      const std::uint64_t pages_each = paged ? size >> c.page_bits : 0;
      std::vector<std::uint64_t> addresses;
      std::vector<bool> written;
      for (std::uint64_t b = 0; b < blocks && first + b * size <= highest; ++b) {
        const std::uint64_t start = first + b * size;
        if (!any(start, size)) {
          addresses.push_back(format::kUndefinedAddress);
          for (std::uint64_t p = 0; p < pages_each; ++p) written.push_back(false);
          continue;
        }
        const auto part = take(start, size);
        addresses.push_back(w.here());
        const std::uint64_t block = w.here();
        prefix("EADB", header);
        w.uint(start, (kBits + 7) / 8);
        if (paged) {
          pages(block, part, std::uint64_t{1} << c.page_bits, false);
          for (std::uint64_t p = 0; p < pages_each; ++p)
            written.push_back(page_written(part, p << c.page_bits, std::uint64_t{1} << c.page_bits));
        } else {
          for (const auto* e : part) element(e);
          w.checksum_from(block);
        }
      }
      addresses.resize(blocks < 4'096 ? blocks : addresses.size(), format::kUndefinedAddress);
      if (u < 4) {
        data_blocks.insert(data_blocks.end(), addresses.begin(), addresses.end());
      } else if (!any(first, blocks * size)) {
        super_blocks.push_back(format::kUndefinedAddress);
      } else {
        super_blocks.push_back(w.here());
        const std::uint64_t block = w.here();
        prefix("EASB", header);
        w.uint(first, (kBits + 7) / 8);
        const std::uint64_t at = w.here();
        w.bytes.resize(at + blocks * ((pages_each + 7) / 8));
        for (std::size_t p = 0; p < written.size(); ++p)
          if (written[p]) w.bytes[at + p / 8] |= static_cast<std::byte>(0x80U >> (p % 8));
        for (const std::uint64_t a : addresses) w.address(a);
        w.checksum_from(block);
      }
      first += blocks * size;
      if (u % 2 == 0)
        size *= 2;
      else
        blocks *= 2;
    }

    const std::uint64_t index_block = w.here();
    prefix("EAIB", header);
    for (const auto* e : take(0, kIndexElements)) element(e);
    for (const std::uint64_t a : data_blocks) w.address(a);
    for (const std::uint64_t a : super_blocks) w.address(a);
    w.checksum_from(index_block);
    extensible_array_header(header, index_block, highest + 1);
  }

  void extensible_array_header(std::uint64_t header, std::uint64_t index_block, std::uint64_t count) {
    ByteWriter h(c.sizes);
    h.text("EAHD");
    h.uint(c.structured ? 1 : 0, 1);
    h.uint(client(), 1);
    h.uint(element_bytes(), 1);
    h.uint(kBits, 1);
    h.uint(kIndexElements, 1);
    h.uint(kMinElements, 1);
    h.uint(kMinPointers, 1);
    h.uint(c.page_bits, 1);
    for (int i = 0; i < 4; ++i) h.length(0);
    h.length(count);
    h.length(count);
    h.address(index_block);
    h.checksum_from(0);
    std::ranges::copy(h.bytes, w.bytes.begin() + static_cast<std::ptrdiff_t>(header));
  }
};

}  // namespace

std::vector<Coordinates> grid_coordinates(const Coordinates& grid) {
  std::vector<Coordinates> out;
  Coordinates at(grid.size(), 0);
  if (std::ranges::find(grid, 0U) != grid.end()) return out;
  for (;;) {
    out.push_back(at);
    std::size_t d = grid.size();
    while (d-- > 0) {
      if (++at[d] < grid[d]) break;
      at[d] = 0;
      if (d == 0) return out;
    }
  }
}

BuiltIndex build_index(const IndexCase& what) {
  BuiltIndex out;
  out.what = what;
  out.layout.version = what.structured ? 5 : 4;
  out.layout.cls = what.structured ? format::LayoutClass::Structured : format::LayoutClass::Chunked;
  out.layout.index = what.kind;
  out.layout.element_size = what.element_size;
  out.layout.structured.section_count = what.structured ? 2 : 0;
  format::Dataspace space;
  space.kind = format::DataspaceKind::Simple;
  for (std::size_t d = 0; d < what.grid.size(); ++d) {
    const std::uint64_t edge = what.dims.empty() ? kChunkEdge : what.chunk_dims[d];
    const std::uint64_t cut =
        what.grid[d] * kChunkEdge - (what.grid[d] > 0 ? d : 0);  // edge chunks extend beyond the extent
    out.layout.chunk_dims.push_back(edge);
    space.dims.push_back(what.dims.empty() ? cut : what.dims[d]);
    space.max_dims.push_back(what.max_grid[d] == format::kUnlimited ? format::kUnlimited
                                                                    : what.max_grid[d] * edge);
  }
  out.geometry = chunk::ChunkGeometry::make(space, out.layout, what.filtered).value();
  Builder b{what, out, ByteWriter(what.sizes)};
  b.w.bytes = what.data;
  b.w.bytes.resize(std::max<std::size_t>(32, what.data.size()));  // no structure is at address 0
  b.choose_chunks();
  switch (what.kind) {
    case format::ChunkIndexKind::BTree1:
      b.btree1();
      break;
    case format::ChunkIndexKind::Single:
      b.single();
      break;
    case format::ChunkIndexKind::Implicit:
      b.implicit();
      break;
    case format::ChunkIndexKind::FixedArray:
      b.fixed_array();
      break;
    case format::ChunkIndexKind::ExtensibleArray:
      b.extensible_array();
      break;
    case format::ChunkIndexKind::BTree2:
      b.btree2();
      break;
  }
  out.bytes = std::move(b.w.bytes);
  return out;
}

}  // namespace h5mount::test
