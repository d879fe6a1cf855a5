#include "heap_references.h"

#include <vector>

#include "h5mount/metadata/foreign_heaps.h"

namespace h5mount::metadata {
namespace {

// Members of a damaged compound may overlap, and an array may repeat them.
constexpr std::size_t kMaxOfElement = 256;
constexpr std::size_t kMaxReferences = 1U << 16;

// Adds the places in an element where addresses of collections are.
void add_places(const format::Datatype& type, std::size_t at, std::vector<std::size_t>& places) {
  constexpr std::size_t kLengthBytes = 4;  // of a value of variable length, before its address
  if (!type.has_variable_part && !type.has_reference) return;
  switch (type.cls) {
    case format::DatatypeClass::VariableLength:
      places.push_back(at + kLengthBytes);
      break;
    case format::DatatypeClass::Reference:
      if (type.reference == format::ReferenceKind::Region1) places.push_back(at);
      break;
    case format::DatatypeClass::Compound:
      for (const format::CompoundMember& member : type.members) {
        if (places.size() >= kMaxOfElement) return;
        add_places(*member.type, at + member.offset, places);
      }
      break;
    case format::DatatypeClass::Array:
      for (std::size_t i = 0; i < type.size / type.base->size && places.size() < kMaxOfElement; ++i) {
        const std::size_t before = places.size();
        add_places(*type.base, at + i * type.base->size, places);
        if (places.size() == before) return;
      }
      break;
    default:
      break;
  }
}

}  // namespace

void for_each_heap_reference(const format::Datatype& type, ByteSpan elements, format::FileSizes sizes,
                             const std::function<void(std::uint64_t address)>& visit) {
  std::vector<std::size_t> places;
  add_places(type, 0, places);
  if (places.empty()) return;
  std::size_t left = kMaxReferences;
  for (; elements.size() >= type.size; elements = elements.subspan(type.size))
    for (const std::size_t place : places) {
      if (left-- == 0) return;
      if (place > type.size) continue;
      format::Cursor cursor(elements.subspan(place, type.size - place), 0, "HeapReference", sizes);
      const std::uint64_t address = cursor.address("collection_address");
      if (cursor.ok() && address != 0 && !ForeignHeaps::is_foreign(address)) visit(address);
    }
}

}  // namespace h5mount::metadata
