#include "booleans.h"

#include <cstring>

#include "h5mount/meaning/packing.h"

namespace h5mount::meaning {

namespace {

class Booleans final : public Elements {
 public:
  void decode(ByteSpan stored, MutableByteSpan shown, std::byte* missing) const override {
    for (std::size_t i = 0; i < stored.size(); ++i) shown[i] = std::byte{stored[i] != std::byte{0}};
    if (missing != nullptr) std::memset(missing, 0, stored.size());
  }
};

}  // namespace

format::DatatypePtr boolean_type() {
  static const format::DatatypePtr kType = [] {
    auto out = std::make_shared<format::Datatype>();
    out->cls = format::DatatypeClass::Enum;
    out->size = 1;
    out->base = type_of(NumberKind::I8);
    out->enum_members = {{"FALSE", {std::byte{0}}}, {"TRUE", {std::byte{1}}}};
    return out;
  }();
  return kType;
}

ElementsPtr booleans_of_bytes() {
  return std::make_shared<const Booleans>();
}

}  // namespace h5mount::meaning
