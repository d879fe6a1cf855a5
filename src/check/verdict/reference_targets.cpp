#include "reference_targets.h"

#include "h5mount/metadata/global_heap.h"
#include "h5mount/text/reference.h"

namespace h5mount::check {

void ReferenceTargets::add(const format::Datatype& type, ByteSpan elements,
                           const metadata::FileMetadataPtr& file, const std::function<bool()>& go_on,
                           const OtherFile& other_file) {
  if (!type.has_reference) return;
  RequestBudget budget(RequestBudget::unbounded());
  followed_.clear();  // types live as long as the elements
  for (std::size_t at = 0; at + type.size <= elements.size() && go_on(); at += type.size)
    scan(type, elements.subspan(at, type.size), {file, budget, go_on, other_file});
}

void ReferenceTargets::scan_list(const format::Datatype& type, ByteSpan element,  // NOLINT(misc-no-recursion)
                                 const Work& work) {
  constexpr std::size_t kMostFollowed = 1U << 20;
  const std::uint8_t width = work.file->sizes().offsets;
  const std::size_t count = load_le<std::uint32_t>(element.data());
  const std::uint64_t address = format::load_address(element.data() + 4, width);
  const std::uint32_t index = load_le<std::uint32_t>(element.data() + 4 + width);
  // Lists whose items are the same list, level by level, would be any number.
  if (followed_.size() < kMostFollowed && !followed_.emplace(&type, address, index).second) return;
  const auto object = metadata::load_global_heap_object(*work.file, address, index);
  if (count == 0 || !object) return;
  const std::size_t size = type.base->size;
  for (std::size_t i = 0; i < count && (i + 1) * size <= object->bytes().size() && work.go_on(); ++i)
    scan(*type.base, object->bytes().subspan(i * size, size), work);
}

// Recursion ends with the decoder's bound (limits::kMaxDatatypeDepth).
void ReferenceTargets::scan(const format::Datatype& type, ByteSpan element,  // NOLINT(misc-no-recursion)
                            const Work& work) {
  if (!type.has_reference) return;
  switch (type.cls) {
    case format::DatatypeClass::Reference: {
      const auto target = text::decode_reference(type, element, {{.file = work.file}, work.budget});
      if (!target || !*target) return;
      if ((*target)->file)
        work.other_file(*(*target)->file);
      else
        addresses_.insert((*target)->address);
      return;
    }
    case format::DatatypeClass::VariableLength:
      return scan_list(type, element, work);
    case format::DatatypeClass::Compound:
      for (const format::CompoundMember& member : type.members)
        scan(*member.type, element.subspan(member.offset, member.type->size), work);
      return;
    case format::DatatypeClass::Array:
      for (std::uint32_t at = 0; at + type.base->size <= type.size; at += type.base->size)
        scan(*type.base, element.subspan(at, type.base->size), work);
      return;
    default:
      return;
  }
}

}  // namespace h5mount::check
