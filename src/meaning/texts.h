// Texts that stand for elements: names of codes, and single characters side by side. Immutable; threads: any.
#pragma once

#include <map>
#include <string>

#include "h5mount/meaning/packing.h"

namespace h5mount::meaning {

format::DatatypePtr text_type(std::uint32_t bytes);

// The names of codes, which are integers of the kind `packing.read_as` as AttributeNumbers has them.
using FlagNames = std::map<std::uint64_t, std::string>;
// The most bytes of a text: a code without a name is its number.
std::uint32_t flag_bytes(const FlagNames& names);
// Texts of so many bytes of the codes that `packing` describes, which is not scaled; missing: NaN.
ElementsPtr flags_of(const Packing& packing, FlagNames names);

// Characters as strings: those of the last dimension are one. Of datasets of one dimension and more.
dataset::DerivationPtr derive_strings();

}  // namespace h5mount::meaning
