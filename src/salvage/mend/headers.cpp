// Mends damaged object headers: the messages that are left go into a new header at the same address.
#include <algorithm>

#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/format/object_header_format.h"
#include "mend.h"

namespace h5mount::salvage {
namespace {

using enum format::MessageType;
using format::MessageType;

constexpr std::uint64_t kMaxHeader = 64U << 10;  // the number of bytes of a damaged header that are looked at
constexpr std::size_t kMaxLost = 160;  // the number of bytes at its beginning that may be unreadable
constexpr std::uint64_t kStepsPerHeader = 1024;
constexpr std::uint64_t kStepsPerLink = 64;
constexpr std::uint64_t kManyElements = std::uint64_t{1} << 40;

template <class T>
bool whole(const Result<T>& decoded, const format::Cursor& cursor, std::size_t padding) {
  return decoded.has_value() && cursor.remaining() <= padding;
}

// Whether a message of that type can have that body. Version 1 pads bodies to 8 bytes.
bool can_be(MessageType type, ByteSpan body, format::FileSizes sizes, std::size_t padding) {
  format::Cursor cursor(body, 0, "message", sizes);
  switch (type) {
    case Nil:
      return true;
    case Dataspace:
      return whole(format::decode_dataspace(cursor), cursor, padding);
    case Datatype:
      return whole(format::decode_datatype(cursor), cursor, padding);
    case FillValue:
      return format::decode_fill_value(cursor).has_value();
    case FillValueOld:
      return format::decode_fill_value_old(cursor).has_value();
    case DataLayout:
      return whole(format::decode_data_layout(cursor), cursor, padding + 8);
    case FilterPipeline:
      return whole(format::decode_filter_pipeline(cursor), cursor, padding + 8);
    case LinkInfo:
      return whole(format::decode_link_info(cursor), cursor, padding);
    case Link:
      return whole(format::decode_link(cursor), cursor, padding);
    case AttributeInfo:
      return whole(format::decode_attribute_info(cursor), cursor, padding);
    case SymbolTable:
      return whole(format::decode_symbol_table_message(cursor), cursor, padding);
    case Attribute:
      return format::decode_attribute(cursor).has_value();
    case ObjectHeaderContinuation:
      return body.size() >= std::size_t{sizes.offsets} + sizes.lengths && body.size() < 32;
    case ObjectModificationTime:
      return body.size() == 8;
    case ObjectReferenceCount:
      return body.size() == 5;
    case GroupInfo:
      return !body.empty() && body[0] == std::byte{0} && body.size() <= 16;
    default:
      return false;
  }
}

// How messages are stored in a header.
struct Form {
  std::uint8_t version = 2;
  bool ordered = false;  // version 2 with creation order
  std::size_t head() const { return version == 1 ? 8 : ordered ? 6 : 4; }
};

struct Chain {
  Form form;
  std::size_t looked = 0;  // bytes that were decoded, those of NIL messages and of the last one too
  std::size_t told = 0;    // bytes of messages other than NIL
  std::vector<format::NewMessage> messages;

  bool has(MessageType type) const { return find(type) != nullptr; }
  const format::NewMessage* find(MessageType type) const {
    const auto at = std::ranges::find(messages, static_cast<std::uint8_t>(type), &format::NewMessage::type);
    return at == messages.end() ? nullptr : &*at;
  }
  bool is_object() const { return has(DataLayout) || has(LinkInfo) || has(Link) || has(SymbolTable); }
};

// The messages from `at` on, up to the first bytes that cannot be a message. `first`: the type of the first
// message, if the type that is stored is not to be used.
Chain chain_at(ByteSpan bytes, std::size_t at, const Form& form, format::FileSizes sizes,
               std::optional<MessageType> first) {
  Chain out;
  out.form = form;
  while (bytes.size() - at >= form.head()) {
    const bool old = form.version == 1;
    const std::uint64_t stored =
        old ? load_le<std::uint16_t>(&bytes[at]) : std::to_integer<std::uint16_t>(bytes[at]);
    const auto size = load_le<std::uint16_t>(&bytes[at + (old ? 2 : 1)]);
    const auto flags = std::to_integer<std::uint8_t>(bytes[at + (old ? 4 : 3)]);
    if (size > bytes.size() - at - form.head() || (old && size % 8 != 0)) break;
    if (!first && stored > format::kLastKnownMessageType) break;
    const auto type = first ? *first : static_cast<MessageType>(stored);
    first.reset();
    const ByteSpan body = bytes.subspan(at + form.head(), size);
    constexpr std::uint8_t kShared = 0x02;
    const bool shared = (flags & kShared) != 0;
    out.looked += form.head() + size;
    if (!shared && !can_be(type, body, sizes, old ? 7 : 0)) break;
    if (shared && (size < 2 || size > 24)) break;
    at += form.head() + size;
    if (type == Nil) continue;
    out.told += size + form.head();
    format::NewMessage message;
    message.type = static_cast<std::uint8_t>(type);
    message.flags = flags;
    message.body.assign(body.begin(), body.end());
    out.messages.push_back(std::move(message));
  }
  return out;
}

// The chain that tells most. Bytes that are zero begin a chain of NIL messages at each of them, so a chain is
// only looked at further where the first message says something or has a body.
Chain best_chain(SalvageState& state, ByteSpan bytes) {
  const format::FileSizes sizes = state.sizes();
  Chain best;
  const auto consider = [&](std::size_t at, const Form& form, std::optional<MessageType> first) {
    if (at + 4 > bytes.size() || !state.spend(1)) return;
    if (!first && load_le<std::uint32_t>(&bytes[at]) == 0) return;
    Chain chain = chain_at(bytes, at, form, sizes, first);
    (void)state.spend(std::min<std::uint64_t>(chain.looked, state.steps));
    if (chain.is_object() && chain.told > best.told) best = std::move(chain);
  };
  format::Cursor cursor(bytes, 0, structures::kObjectHeader, sizes);
  if (const auto prefix = format::decode_object_header_prefix(cursor))
    consider(prefix->prefix_bytes, {prefix->version, prefix->tracks_creation_order()}, std::nullopt);
  for (std::size_t at = 6; at < kMaxLost; ++at)
    for (const bool ordered : {false, true}) {
      consider(at, {2, ordered}, std::nullopt);
      consider(at, {2, ordered}, Datatype);
    }
  for (std::size_t at = 16; at < kMaxLost; at += 8) consider(at, {1, false}, std::nullopt);
  return best;
}

// `growing`: whether the first dimension is unlimited.
format::NewMessage simple_space(std::span<const std::uint64_t> dims, bool growing, format::FileSizes sizes) {
  format::Writer out(sizes);
  out.uint(2, 1).uint(dims.size(), 1).uint(growing ? 1 : 0, 1).uint(1, 1);
  for (const std::uint64_t dim : dims) out.length(dim);
  if (growing) {
    out.length(format::kUnlimited);
    for (const std::uint64_t dim : dims.subspan(1)) out.length(dim);
  }
  return format::make_message(Dataspace, out);
}

// A datatype for elements of which only the size is known: unsigned bytes, or opaque elements.
format::NewMessage opaque_type(std::uint32_t size, format::FileSizes sizes) {
  format::Writer out(sizes);
  if (size == 1)
    out.uint(0x10, 1).uint(0, 3).uint(1, 4).uint(0, 2).uint(8, 2);  // an unsigned integer
  else
    out.uint(0x15, 1).uint(0, 3).uint(size, 4);  // an opaque type without a tag
  return format::make_message(Datatype, out);
}

class HeaderMender {
 public:
  HeaderMender(SalvageState& state, std::uint64_t address) : state_(state), address_(address) {}

  bool run() {
    if (!state_.spend(kStepsPerHeader)) return false;
    const auto block = state_.file->read_up_to(address_, most_bytes(), structures::kObjectHeader);
    if (!block) return false;
    Chain chain = best_chain(state_, block->bytes());
    if (!chain.is_object()) return false;
    if (chain.has(DataLayout) && !complete_dataset(chain)) return false;
    if (!chain.has(DataLayout) && !chain.has(LinkInfo) && chain.has(Link))
      chain.messages.push_back(format::encode_link_info(false, false, state_.sizes()));
    return state_.make_header_at(address_, chain.messages);
  }

 private:
  // The number of bytes that are looked at: up to the next structure that was found.
  std::uint64_t most_bytes() const {
    std::uint64_t most = std::min(kMaxHeader, state_.end - address_);
    const auto next = std::ranges::upper_bound(state_.found, address_ + 4, {}, Found::place);
    if (next != state_.found.end()) most = std::min(most, next->offset - address_);
    return most;
  }

  bool complete_dataset(Chain& chain) {
    const format::NewMessage* const stored = chain.find(DataLayout);
    format::Cursor cursor(stored->body, 0, structures::kDataLayoutMessage, state_.sizes());
    const auto layout = format::decode_data_layout(cursor);
    if (!layout) return false;
    std::uint64_t element = layout->element_size;
    if (const format::NewMessage* const type = chain.find(Datatype);
        type != nullptr && (type->flags & 2) == 0) {
      format::Cursor body(type->body, 0, structures::kDatatypeMessage, state_.sizes());
      const auto decoded = format::decode_datatype(body);
      if (!decoded) return false;
      element = (*decoded)->size;
    } else if (type == nullptr) {
      element = std::max<std::uint64_t>(element, 1);
      chain.messages.push_back(opaque_type(static_cast<std::uint32_t>(element), state_.sizes()));
    }
    if (chain.has(Dataspace)) return true;
    if (element == 0) return false;
    const auto dims = dims_of(*layout, element, chain.has(FilterPipeline));
    if (!dims) return false;
    // An extensible array is one of a dataset with an unlimited dimension.
    const bool growing = layout->cls == format::LayoutClass::Chunked &&
                         layout->index == format::ChunkIndexKind::ExtensibleArray;
    chain.messages.push_back(simple_space(*dims, growing, state_.sizes()));
    return true;
  }

  // Extents that hold the stored elements: a list of elements, or a list of chunks if only their number is
  // known.
  std::optional<std::vector<std::uint64_t>> dims_of(const format::DataLayout& layout, std::uint64_t element,
                                                    bool filtered) const {
    switch (layout.cls) {
      case format::LayoutClass::Compact:
        return std::vector<std::uint64_t>{layout.compact_data.size() / element};
      case format::LayoutClass::Contiguous:
        if (!layout.has_size) return std::nullopt;
        return std::vector<std::uint64_t>{layout.size / element};
      case format::LayoutClass::Chunked:
        return chunked_dims(layout, filtered);
      default:
        return std::nullopt;
    }
  }

  std::optional<std::vector<std::uint64_t>> chunked_dims(const format::DataLayout& layout,
                                                         bool filtered) const {
    std::vector<std::uint64_t> out = layout.chunk_dims;
    if (out.empty()) return std::nullopt;
    switch (layout.index) {
      case format::ChunkIndexKind::Single:
        return out;
      case format::ChunkIndexKind::FixedArray:
        return listed(out, length_at(layout.address, "FAHD", kFixedCountAt));
      case format::ChunkIndexKind::ExtensibleArray:
        return listed(out, length_at(layout.address, "EAHD",
                                     kExtensibleStatisticsAt + std::size_t{4} * state_.sizes().lengths));
      case format::ChunkIndexKind::BTree1:
      case format::ChunkIndexKind::BTree2:
        return dims_of_tree(layout, filtered);
      case format::ChunkIndexKind::Implicit:
        break;
    }
    return std::nullopt;
  }

  static constexpr std::size_t kFixedCountAt = 8, kExtensibleStatisticsAt = 12;

  std::optional<std::uint64_t> length_at(std::uint64_t address, std::string_view signature,
                                         std::size_t at) const {
    const auto block = state_.file->read(address, at + state_.sizes().lengths, signature);
    if (!block || as_text(block->bytes().first(4)) != signature) return std::nullopt;
    return load_le_width(&block->bytes()[at], state_.sizes().lengths);
  }

  static std::optional<std::vector<std::uint64_t>> listed(std::vector<std::uint64_t> chunk,
                                                          std::optional<std::uint64_t> count) {
    if (!count || *count == 0 || *count > kManyElements / chunk[0]) return std::nullopt;
    chunk[0] *= *count;
    return chunk;
  }

  std::optional<std::vector<std::uint64_t>> dims_of_tree(const format::DataLayout& layout,
                                                         bool filtered) const {
    format::Dataspace space;
    space.kind = format::DataspaceKind::Simple;
    for (const std::uint64_t dim : layout.chunk_dims)
      space.dims.push_back(std::min(kManyElements, dim << 24));
    space.max_dims.assign(space.dims.size(), format::kUnlimited);
    const auto geometry = chunk::ChunkGeometry::make(space, layout, filtered);
    if (!geometry) return std::nullopt;
    const auto index = chunk::open_chunk_index(state_.file, layout, *geometry);
    if (!index) return std::nullopt;
    std::vector<std::uint64_t> out(space.dims.size(), 0);
    std::size_t count = 0;
    (void)(*index)->for_each([&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord&) {
      for (std::size_t d = 0; d < out.size(); ++d)
        out[d] = std::max(out[d], (scaled[d] + 1) * layout.chunk_dims[d]);
      return state_.spend(1) && ++count < limits::kMaxCheckedExtents;
    });
    if (count == 0) return std::nullopt;
    return out;
  }

  SalvageState& state_;
  const std::uint64_t address_;
};

}  // namespace

bool mend_header(SalvageState& state, std::uint64_t address) {
  return address < state.end && HeaderMender(state, address).run();
}

bool mend_old_group(SalvageState& state, std::uint64_t address, const CachedTable& table) {
  const std::vector<format::Link> links = links_of_table(state, table.tree, table.heap);
  if (links.empty() || !state.spend(links.size() * kStepsPerLink)) return false;
  return state.make_header_at(address, format::encode_links(links, false, false, state.sizes()));
}

std::unordered_map<std::uint64_t, CachedTable> cached_tables(SalvageState& state) {
  std::unordered_map<std::uint64_t, CachedTable> out;
  const std::size_t offsets = state.sizes().offsets;
  const std::size_t entry_bytes = 2 * offsets + 24;
  const std::uint64_t most = std::uint64_t{2} * state.file->superblock().k.group_leaf;
  for (const Found& node : state.of_kind(Kind::SymbolNode)) {
    constexpr std::size_t kCountAt = 6, kEntriesAt = 8;
    const auto head = state.file->read(node.offset, kEntriesAt, structures::kSymbolTableNode);
    if (!head) continue;
    const auto count = std::min<std::uint64_t>(load_le<std::uint16_t>(&head->bytes()[kCountAt]), most);
    if (!state.spend(1024 + 64 * count)) break;
    const auto block =
        state.file->read_up_to(node.offset, kEntriesAt + count * entry_bytes, structures::kSymbolTableNode);
    if (!block) continue;
    for (std::size_t at = kEntriesAt; at + entry_bytes <= block->bytes().size(); at += entry_bytes) {
      format::Cursor cursor(block->bytes().subspan(at, entry_bytes), node.offset + at,
                            structures::kSymbolTableEntry, state.sizes());
      constexpr std::uint32_t kCachedGroup = 1;
      cursor.skip(offsets, "name_offset");
      const std::uint64_t header = cursor.address("header_address");
      if (cursor.u32("cache_type") != kCachedGroup) continue;
      cursor.skip(4, "reserved");
      const std::uint64_t tree = cursor.address("btree_address");
      out.try_emplace(header, CachedTable{tree, cursor.address("heap_address")});
    }
  }
  return out;
}

}  // namespace h5mount::salvage
