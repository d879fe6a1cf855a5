#include "owners.h"

#include "h5mount/base/structures.h"

namespace h5mount::check {

void Owners::add(const Places& places, PlaceId place, std::uint64_t address) {
  if (address == format::kUndefinedAddress) return;
  const auto [known, added] = known_.try_emplace(address, place);
  if (!added && known->second != place)
    findings_.add(VerdictKind::Overlap, VerdictCode::Corrupt, places.path(place),
                  "structures of " + places.path(known->second));
}

void Owners::judge(const Places& places, PlaceId place, const object::Object& object) {
  for (const metadata::HeaderMessage& message : object.header->messages) {
    format::Cursor cursor = message.cursor(structures::kObjectHeader);
    if (message.is_shared()) continue;
    if (message.type == format::MessageType::SymbolTable) {
      const auto table = format::decode_symbol_table_message(cursor);
      if (!table) continue;
      add(places, place, table->btree_address);
      add(places, place, table->local_heap_address);
    } else if (message.type == format::MessageType::LinkInfo ||
               message.type == format::MessageType::AttributeInfo) {
      const auto info = message.type == format::MessageType::LinkInfo ? format::decode_link_info(cursor)
                                                                      : format::decode_attribute_info(cursor);
      if (!info) continue;
      add(places, place, info->fractal_heap_address);
      add(places, place, info->name_index_address);
      add(places, place, info->creation_order_index_address);
    }
  }
}

void Owners::judge(const Places& places, PlaceId place, const format::DataLayout& layout) {
  if (layout.cls == format::LayoutClass::Chunked || layout.cls == format::LayoutClass::Structured)
    add(places, place, layout.address);
}

}  // namespace h5mount::check
