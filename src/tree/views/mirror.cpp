#include "mirror.h"

#include "h5mount/tree/names.h"

namespace h5mount::tree {

std::string Mirror::encode(const MirrorEntry& entry) const {
  return encode_name(entry.link.value_or(""), entry.part.empty() ? std::string_view() : suffix());
}

std::optional<MirrorEntry> Mirror::decode(std::string_view shown) const {
  MirrorEntry entry;
  if (shown.ends_with(suffix())) entry.part = suffix();
  entry.link = decode_name(without_suffix(shown, suffix()));
  if (!entry.link) return std::nullopt;
  return entry;
}

Status Mirror::find_part(ServedFile& file, const OpenedObject& object, const std::string& part,
                         RequestBudget& budget) const {
  bool found = false;
  H5_TRY(for_each_part(file, object, budget, [&](const std::string& one) { found = found || one == part; }));
  return found ? Status() : fail(no_such_entry());
}

}  // namespace h5mount::tree
