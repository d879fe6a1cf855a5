// Mends groups: finds links in the symbol nodes and heap blocks that survived.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "h5mount/base/structures.h"
#include "h5mount/format/symbol_table.h"
#include "h5mount/metadata/local_heap.h"
#include "h5mount/metadata/symbol_table.h"
#include "mend.h"

namespace h5mount::salvage {
namespace {

using format::MessageType;

constexpr std::size_t kMaxLinkBytes = 64U << 10;  // heap blocks of links are no larger than this
constexpr std::uint64_t kStepsPerObject = 1024;
constexpr std::uint64_t kMaxSegment = 64U << 20;

// The group's message of that type.
template <class T>
std::optional<T> message_of(const SalvageState& state, const object::Object& group, MessageType type,
                            Result<T> (*decode)(format::Cursor&)) {
  const metadata::HeaderMessage* message = group.header->find(type);
  if (message == nullptr) return std::nullopt;
  const auto resolved = metadata::resolve_message(*state.file, *message);
  if (!resolved) return std::nullopt;
  format::Cursor cursor = resolved->cursor("GroupMessage");
  const auto value = decode(cursor);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<format::LinkInfo> link_info_of(const SalvageState& state, const object::Object& group) {
  return message_of(state, group, MessageType::LinkInfo, format::decode_link_info);
}

std::optional<format::SymbolTableMessage> symbol_table_of(const SalvageState& state,
                                                          const object::Object& group) {
  return message_of(state, group, MessageType::SymbolTable, format::decode_symbol_table_message);
}

// The link that an entry of a symbol node stands for; nullopt if its target cannot be read.
std::optional<format::Link> link_of(const metadata::LocalHeap& heap, std::string name,
                                    const format::SymbolTableEntry& symbol) {
  format::Link link;
  link.name = std::move(name);
  link.address = symbol.soft ? format::kUndefinedAddress : symbol.header_address;
  if (!symbol.soft) return link;
  auto target = heap.text(symbol.target_offset);
  if (!target) return std::nullopt;
  link.type = static_cast<std::uint8_t>(format::LinkType::Soft);
  link.target = *std::move(target);
  return link;
}

bool opens(SalvageState& state, std::uint64_t address) {
  return address < state.end && state.spend(kStepsPerObject) &&
         object::open_object(*state.file, address).has_value();
}

// The links of a symbol node whose names lie in that heap; nullopt unless every link is plausible: each name
// begins where a text in the heap may begin, names ascend, and hard links lead to objects.
std::optional<std::vector<format::Link>> links_of_node(SalvageState& state, const metadata::LocalHeap& heap,
                                                       std::uint64_t address) {
  constexpr std::string_view kNode = structures::kSymbolTableNode;
  const std::uint64_t most = std::uint64_t{2} * state.file->superblock().k.group_leaf;
  const auto block =
      state.file->read_up_to(address, format::symbol_table_node_bytes(state.sizes(), most), kNode);
  // Each damaged group asks every node.
  if (!block || !state.spend(64 + block->bytes().size() / 8)) return std::nullopt;
  format::Cursor cursor = block->cursor(kNode);
  const auto symbols = format::decode_symbol_table_node(cursor, most);
  if (!symbols || symbols->empty()) return std::nullopt;
  std::vector<format::Link> out;
  for (const format::SymbolTableEntry& symbol : *symbols) {
    auto name = heap.text(symbol.name_offset);
    if (!name || name->empty() || symbol.name_offset % 8 != 0 || symbol.name_offset == 0) return std::nullopt;
    if (!out.empty() && out.back().name >= *name) return std::nullopt;
    auto link = link_of(heap, *std::move(name), symbol);
    if (!link || (!symbol.soft && !opens(state, link->address))) return std::nullopt;
    out.push_back(*std::move(link));
  }
  return out;
}

void add_symbols(SalvageState& state, std::uint64_t heap_address, std::vector<format::Link>& out) {
  auto heap = metadata::LocalHeap::open(state.file, heap_address);
  if (!heap || !state.spend(heap->segment_size())) return;
  heap->load();
  for (const Found& node : state.unclaimed(Kind::SymbolNode))
    if (auto links = links_of_node(state, *heap, node.offset))
      out.insert(out.end(), links->begin(), links->end());
}

// The link message at `at`, and its length, checked as far as its form allows; nullopt if there is none.
std::optional<std::pair<format::Link, std::size_t>> link_at(SalvageState& state, ByteSpan bytes,
                                                            std::size_t at) {
  if (bytes.size() - at < 6 || bytes[at] != std::byte{1} || (bytes[at + 1] & std::byte{0xE0}) != std::byte{0})
    return std::nullopt;
  format::Cursor cursor(bytes.subspan(at), at, structures::kLinkMessage, state.sizes());
  auto link = format::decode_link(cursor);
  if (!link || link->name.empty() || link->name.find('\0') != std::string::npos) return std::nullopt;
  const bool known_type = link->is(format::LinkType::Hard) || link->is(format::LinkType::Soft) ||
                          link->is(format::LinkType::External);
  if (!known_type) return std::nullopt;
  if (link->is(format::LinkType::Hard) ? !opens(state, link->address) : link->target.empty())
    return std::nullopt;
  return std::pair{*std::move(link), cursor.position()};
}

// Adds the links in a direct block of a heap: they lie one behind another, with gaps if some were removed.
void add_heap_links(SalvageState& state, std::uint64_t block_address, std::vector<format::Link>& out) {
  const auto block =
      state.file->read_up_to(block_address, kMaxLinkBytes, structures::kFractalHeapDirectBlock);
  if (!block) return;
  ByteSpan bytes = block->bytes();
  const auto next = std::ranges::upper_bound(state.found, block_address, {}, Found::place);
  if (next != state.found.end() && next->offset - block_address < bytes.size())
    bytes = bytes.first(static_cast<std::size_t>(next->offset - block_address));
  if (!state.spend(bytes.size())) return;
  for (std::size_t at = owner_at(Kind::HeapDirect) + state.sizes().offsets; at + 6 < bytes.size();) {
    auto link = link_at(state, bytes, at);
    if (!link) {
      ++at;
      continue;
    }
    out.push_back(std::move(link->first));
    at += link->second;
  }
}

// The texts in an old group's heap that no link of the group has, in the order of the heap.
std::vector<std::string> names_without_object(SalvageState& state, const DamagedGroup& group) {
  std::vector<std::string> out;
  const auto table = symbol_table_of(state, group.object);
  if (!table) return out;
  auto heap = metadata::LocalHeap::open(state.file, table->local_heap_address);
  if (!heap || heap->segment_size() > kMaxSegment || !state.spend(heap->segment_size())) return out;
  heap->load();
  auto free = heap->free_blocks();
  std::ranges::sort(free, {}, [](const auto& one) { return one.offset; });
  std::unordered_set<std::string> known;
  for (const format::Link& link : group.links) {
    known.insert(link.name);
    known.insert(link.target);
  }
  for (std::uint64_t at = 8; at < heap->segment_size() && state.spend(64);) {
    const auto behind = std::ranges::upper_bound(free, at, {}, [](const auto& one) { return one.offset; });
    if (behind != free.begin() && at - std::prev(behind)->offset < std::prev(behind)->size) {
      at = std::prev(behind)->offset + std::prev(behind)->size;
      continue;
    }
    auto name = heap->text(at);
    if (!name) break;
    at += (name->size() + 8) / 8 * 8;
    if (!name->empty() && !known.contains(*name)) out.push_back(*std::move(name));
  }
  return out;
}

bool in_any(const std::array<const UsedRanges*, 2>& used, std::uint64_t address) {
  return std::ranges::any_of(used,
                             [&](const UsedRanges* one) { return one != nullptr && one->contains(address); });
}

std::vector<Found> outside(std::vector<Found> found, const std::array<const UsedRanges*, 2>& used) {
  std::erase_if(found, [&](const Found& one) { return in_any(used, one.offset); });
  return found;
}

// Assigns each symbol node to one heap: the nearest one, before or behind it, whose texts can be the node's
// names.
void add_headless_tables(SalvageState& state, const std::array<const UsedRanges*, 2>& used,
                         std::vector<HeadlessGroup>& out) {
  constexpr std::uint64_t kStepsPerPair = 256;
  constexpr std::uint64_t kMaxLoaded = 64U << 20;  // bytes of heaps that are loaded, whatever they claim
  std::uint64_t loaded = 0;
  struct Names {
    metadata::LocalHeap heap;
    HeadlessGroup group;
  };
  std::vector<Names> all;
  for (const Found& found : outside(state.of_kind(Kind::LocalHeap), used)) {
    auto heap = metadata::LocalHeap::open(state.file, found.offset);
    if (!heap || heap->segment_size() > kMaxSegment || !state.spend(heap->segment_size())) continue;
    const std::uint64_t bytes = heap->segment_size() + sizeof(Names);
    if (bytes > kMaxLoaded - loaded) continue;
    loaded += bytes;
    heap->load();
    all.push_back({*std::move(heap), {found.offset, {}}});
  }
  for (const Found& node : outside(state.of_kind(Kind::SymbolNode), used)) {
    Names* nearest = nullptr;
    std::vector<format::Link> links;
    const auto distance = [&](const Names& names) {
      return names.group.heap > node.offset ? names.group.heap - node.offset : node.offset - names.group.heap;
    };
    for (Names& names : all) {
      if (nearest != nullptr && distance(names) >= distance(*nearest)) continue;
      if (!state.spend(kStepsPerPair)) return;
      if (auto read = links_of_node(state, names.heap, node.offset))
        links = *std::move(read), nearest = &names;
    }
    if (nearest != nullptr)
      nearest->group.links.insert(nearest->group.links.end(), links.begin(), links.end());
  }
  for (Names& names : all)
    if (!names.group.links.empty()) out.push_back(std::move(names.group));
}

}  // namespace

std::vector<format::Link> links_of_table(const SalvageState& state, std::uint64_t tree, std::uint64_t heap) {
  std::vector<format::Link> out;
  const auto table = metadata::SymbolTable::open(state.file, tree, heap);
  if (!table) return out;
  const auto keep = [&](std::string&& name, const format::SymbolTableEntry& entry) {
    if (auto link = link_of(table->heap(), std::move(name), entry)) out.push_back(*std::move(link));
    return true;
  };
  (void)table->for_each(keep, [](const Error&) {});
  return out;
}

std::vector<HeadlessGroup> headless_groups(SalvageState& state, std::array<const UsedRanges*, 2> used) {
  std::vector<HeadlessGroup> out;
  add_headless_tables(state, used, out);
  // Each block of a fractal heap contains the address of the heap's header, even if the header is gone.
  std::map<std::uint64_t, std::vector<format::Link>> by_heap;
  for (const Found& block : outside(state.of_kind(Kind::HeapDirect), used)) {
    constexpr std::size_t kOwnerAt = owner_at(Kind::HeapDirect);
    const auto owner =
        state.file->read(block.offset, kOwnerAt + state.sizes().offsets, structures::kFractalHeapDirectBlock);
    if (!owner) continue;
    const std::uint64_t heap = load_le_width(owner->bytes().data() + kOwnerAt, state.sizes().offsets);
    if (!in_any(used, heap)) add_heap_links(state, block.offset, by_heap[heap]);
  }
  for (auto& [heap, links] : by_heap)
    if (!links.empty()) out.push_back({heap, std::move(links)});
  for (HeadlessGroup& group : out) {
    std::unordered_set<std::string> names;
    std::erase_if(group.links, [&](const format::Link& link) { return !names.insert(link.name).second; });
  }
  return out;
}

std::vector<format::Link> surviving_links(SalvageState& state, const object::Object& group,
                                          std::span<const format::Link> known) {
  std::vector<format::Link> all;
  const auto info = link_info_of(state, group);
  const auto table = symbol_table_of(state, group);
  if (info && info->fractal_heap_address != format::kUndefinedAddress)
    for (const Found& block : state.owned(Kind::HeapDirect, info->fractal_heap_address))
      add_heap_links(state, block.offset, all);
  if (table) add_symbols(state, table->local_heap_address, all);
  std::unordered_set<std::string> names;
  for (const format::Link& link : known) names.insert(link.name);
  std::vector<format::Link> out;
  for (format::Link& link : all)
    if (names.insert(link.name).second) out.push_back(std::move(link));
  return out;
}

bool replace_links(SalvageState& state, const object::Object& group, std::span<const format::Link> links) {
  static constexpr MessageType kOwn[] = {MessageType::LinkInfo, MessageType::Link, MessageType::SymbolTable};
  const auto info = link_info_of(state, group);
  const auto messages = format::encode_links(links, info && info->creation_order_tracked,
                                             info && info->creation_order_indexed, state.sizes());
  return state.replace_messages(*group.header, kOwn, messages);
}

std::optional<std::uint64_t> make_group(SalvageState& state, std::span<const format::Link> links) {
  return state.made->add(format::encode_header(format::encode_links(links, false, false, state.sizes())));
}

std::unordered_map<std::uint64_t, std::string> surviving_names(SalvageState& state,
                                                               std::span<const DamagedGroup> groups,
                                                               std::span<const std::uint64_t> lost) {
  std::vector<format::Link> links;
  for (const Found& block : state.unclaimed(Kind::HeapDirect)) add_heap_links(state, block.offset, links);
  for (const Found& heap : state.unclaimed(Kind::LocalHeap)) {
    if (!state.spend(state.found.size())) break;
    add_symbols(state, heap.offset, links);
  }
  std::unordered_map<std::uint64_t, std::string> out;
  for (const format::Link& link : links)
    if (link.is(format::LinkType::Hard)) out.emplace(link.address, link.name);
  for (const DamagedGroup& group : groups) {
    const std::vector<std::string> free = names_without_object(state, group);
    std::vector<std::uint64_t> nameless;
    for (const std::uint64_t address : lost)
      if (!out.contains(address)) nameless.push_back(address);
    if (free.empty() || free.size() != nameless.size()) continue;
    for (std::size_t i = 0; i < free.size(); ++i) out.emplace(nameless[i], free[i]);
  }
  return out;
}

}  // namespace h5mount::salvage
