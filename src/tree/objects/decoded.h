// What conventions say of the datasets of a file. Threads: any.
#pragma once

#include <optional>

#include "h5mount/meaning/decoding.h"
#include "object_facts.h"

namespace h5mount::tree {

inline constexpr std::string_view kDecodedXattr = "user.hdf5.decoded";

// Returns nullopt if none speaks of the object. Of groups only the text.
Result<std::optional<meaning::Decoding>> decoding_of_object(ServedFile& file, const OpenedObject& object,
                                                            RequestBudget& budget);

}  // namespace h5mount::tree
