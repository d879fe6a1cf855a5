#include "shape.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <unordered_map>

#include "h5mount/base/structures.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/format/symbol_table.h"
#include "h5mount/metadata/probe.h"

namespace h5mount::salvage {
namespace {

// The number of places, and of addresses, that are compared to find the base address.
constexpr std::size_t kMaxVoters = 1024;
constexpr std::uint64_t kMaxVotedHeader = 4096;
// The number of structures that are read to compare them: reading more would not tell more.
constexpr unsigned kMaxAsked = 1U << 16;

// Superblocks 0 and 1 end with the root's symbol table entry, whose scratch pad names its tree and heap.
void read_cached_root(const io::ByteSource& source, std::uint64_t place, Shape& shape) {
  const format::Superblock& block = shape.superblock;
  if (block.version > 1) return;
  const std::size_t o = block.sizes.offsets, l = block.sizes.lengths;
  const std::size_t entry = (block.version == 0 ? 24 : 28) + 4 * o;
  std::vector<std::byte> bytes(entry + l + o + 24);
  if (!source.read_at(place, bytes)) return;
  format::Cursor cursor(bytes, place, structures::kSuperblock, block.sizes);
  cursor.skip(entry + l + o, "root");
  constexpr std::uint32_t kCachedTable = 1;
  if (cursor.u32("cache_type") != kCachedTable) return;
  cursor.skip(4, "reserved");
  shape.root_tree = cursor.address("btree_address");
  shape.root_heap = cursor.address("heap_address");
}

// The shape of a file inside another one, by the superblock that was found in it.
std::optional<Shape> shape_within(const io::ByteSource& source, const Swept& swept) {
  for (const Found& found : swept.found) {
    if (found.kind != Kind::Superblock) continue;
    const auto superblock = metadata::load_superblock(source, found.offset);
    if (!superblock || superblock->root_address == format::kUndefinedAddress) continue;
    if (superblock->root_address >= source.size() - found.offset) continue;
    Shape shape;
    shape.base = static_cast<std::int64_t>(found.offset);
    shape.superblock = *superblock;
    shape.found_by = "superblock at offset " + std::to_string(found.offset);
    read_cached_root(source, found.offset, shape);
    return shape;
  }
  return std::nullopt;
}

// Collects addresses of structures, as links, symbol nodes and other structures contain them.
class AddressCollector {
 public:
  AddressCollector(const io::ByteSource& source, format::FileSizes sizes) : source_(source), sizes_(sizes) {}

  void take(const Found& found) {
    if (asked_ >= kMaxAsked) return;
    if (found.kind == Kind::SymbolNode) take_symbols(found.offset);
    if (found.kind == Kind::Header2) take_links(found);
    if (const Kind owner = owner_of(found.kind); owner != Kind::None) take_owner(found, owner);
  }
  // The addresses that are referred to, by the kind of structure, each once.
  std::map<Kind, std::set<std::uint64_t>> named;
  unsigned sound = 0;  // structures whose fields agree with these widths
  unsigned unsound = 0;

 private:
  static constexpr std::uint64_t kMaxSymbols = 64;

  static Kind owner_of(Kind kind) {
    if (kind == Kind::HeapDirect) return Kind::FractalHeap;
    if (kind == Kind::FixedData) return Kind::FixedArray;
    const bool extensible = kind == Kind::ExtensibleIndex || kind == Kind::ExtensibleData;
    return extensible ? Kind::ExtensibleArray : Kind::None;
  }

  std::vector<std::byte> bytes_at(std::uint64_t offset, std::uint64_t most) {
    ++asked_;
    std::vector<std::byte> out(static_cast<std::size_t>(std::min(most, source_.size() - offset)));
    if (!source_.read_at(offset, out)) out.clear();
    return out;
  }

  void take_symbols(std::uint64_t offset) {
    const auto bytes = bytes_at(offset, format::symbol_table_node_bytes(sizes_, kMaxSymbols));
    format::Cursor cursor(bytes, offset, structures::kSymbolTableNode, sizes_);
    const auto symbols = format::decode_symbol_table_node(cursor, kMaxSymbols);
    if (!symbols) return;
    for (const format::SymbolTableEntry& symbol : *symbols) {
      const bool fits = symbol.name_offset % 8 == 0 && symbol.name_offset < (1U << 28) &&
                        (symbol.soft || symbol.header_address < (std::uint64_t{1} << 48));
      ++(fits ? sound : unsound);
      if (fits && !symbol.soft) named[Kind::Header1].insert(symbol.header_address);
    }
  }

  void take_links(const Found& found) {
    const auto bytes = bytes_at(found.offset, kMaxVotedHeader);
    format::Cursor cursor(bytes, found.offset, structures::kObjectHeader, sizes_);
    const auto prefix = format::decode_object_header_prefix(cursor);
    if (!prefix || prefix->chunk0_bytes > cursor.remaining()) return;
    format::Cursor messages = cursor.part(static_cast<std::size_t>(prefix->chunk0_bytes), "messages");
    (void)format::for_each_raw_message(messages, *prefix, [&](const format::RawMessage& raw) -> Status {
      format::Cursor body(raw.body, raw.offset, structures::kLinkMessage, sizes_);
      const auto count = [&](const auto& decoded) { ++(decoded && body.remaining() == 0 ? sound : unsound); };
      const auto type = static_cast<format::MessageType>(raw.type);
      if (type == format::MessageType::LinkInfo) count(format::decode_link_info(body));
      if (type == format::MessageType::AttributeInfo) count(format::decode_attribute_info(body));
      if (type != format::MessageType::Link) return {};
      const auto link = format::decode_link(body);
      count(link);
      if (link && link->is(format::LinkType::Hard)) named[Kind::Header1].insert(link->address);
      return {};
    });
  }

  void take_owner(const Found& found, Kind owner) {
    const std::size_t at = owner_at(found.kind);
    const auto bytes = bytes_at(found.offset, at + sizes_.offsets);
    if (bytes.size() == at + sizes_.offsets) named[owner].insert(load_le_width(&bytes[at], sizes_.offsets));
  }

  const io::ByteSource& source_;
  const format::FileSizes sizes_;
  unsigned asked_ = 0;
};

// The base address with which most structures are where others say that they are, and how many agree; 0 if no
// other has more.
std::pair<std::int64_t, unsigned> most_voted(const std::map<Kind, std::set<std::uint64_t>>& named,
                                             const std::map<Kind, std::vector<std::uint64_t>>& places) {
  std::unordered_map<std::int64_t, unsigned> votes;
  for (const auto& [kind, addresses] : named) {
    const auto found = places.find(kind);
    if (found == places.end()) continue;
    for (const std::uint64_t address : addresses | std::views::take(kMaxVoters))
      for (const std::uint64_t place : found->second | std::views::take(kMaxVoters))
        ++votes[static_cast<std::int64_t>(place - address)];
  }
  std::pair<std::int64_t, unsigned> best{0, votes[0]};
  for (const auto& [base, count] : votes)
    if (count > best.second || (count == best.second && best.first != 0 && base < best.first))
      best = {base, count};
  return best;
}

std::optional<Shape> inferred_shape(const io::ByteSource& source, const Swept& swept) {
  std::map<Kind, std::vector<std::uint64_t>> places;
  for (const Found& found : swept.found) {
    const bool header = is_header(found);
    if (header || found.kind == Kind::FractalHeap || found.kind == Kind::ExtensibleArray ||
        found.kind == Kind::FixedArray)
      places[header ? Kind::Header1 : found.kind].push_back(found.offset);
  }
  if (!places.contains(Kind::Header1)) return std::nullopt;
  std::optional<Shape> best;
  std::uint64_t best_score = 0;
  constexpr format::FileSizes kSizes[] = {{8, 8}, {4, 4}, {8, 4}, {4, 8}, {2, 2}};
  for (const format::FileSizes sizes : kSizes) {
    AddressCollector collector(source, sizes);
    for (const Found& found : swept.found) collector.take(found);
    const auto [base, votes] = most_voted(collector.named, places);
    const std::uint64_t score =
        1 + std::uint64_t{votes} * 4 + collector.sound * std::uint64_t{2} -
        std::min<std::uint64_t>(collector.unsound, votes * 4 + collector.sound * std::uint64_t{2});
    if (best && score <= best_score) continue;
    best_score = score;
    best.emplace();
    best->base = base;
    best->superblock.version = 2;
    best->superblock.sizes = sizes;
    best->root_known = false;
    best->found_by = "structures that agree, without a superblock";
  }
  return best;
}

}  // namespace

Result<Shape> find_shape(const std::shared_ptr<io::ByteSource>& source, const Options& options,
                         std::optional<Swept>& swept) {
  if (const auto place = metadata::locate_superblock(*source)) {
    if (const auto superblock = metadata::load_superblock(*source, *place)) {
      Shape shape;
      shape.base = static_cast<std::int64_t>(*place);
      shape.superblock = *superblock;
      shape.flags_left = superblock->open_for_writing() && !superblock->open_for_swmr_writing();
      read_cached_root(*source, *place, shape);
      return shape;
    }
  }
  H5_ASSIGN(swept, sweep(*source, {{0, source->size()}}, options));
  if (auto shape = shape_within(*source, *swept)) return *std::move(shape);
  if (auto shape = inferred_shape(*source, *swept)) {
    shape->superblock.end_of_file =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(source->size()) - shape->base);
    return *std::move(shape);
  }
  if (swept->why_unreadable) return fail(*swept->why_unreadable);
  return fail(Error(ErrorCode::BadSignature, "not an HDF5 file, and no structures of one are in it"));
}

}  // namespace h5mount::salvage
