// What conventions say of the datasets of a file. Threads: any.
#pragma once

#include <optional>

#include "h5mount/meaning/decoding.h"
#include "h5mount/meaning/matrices.h"
#include "object_facts.h"

namespace h5mount::tree {

inline constexpr std::string_view kDecodedXattr = "user.hdf5.decoded";

// Returns nullopt if none speaks of the object.
Result<std::optional<meaning::Decoding>> decoding_of_object(ServedFile& file, const OpenedObject& object,
                                                            RequestBudget& budget);

// The sparse matrix that the object is; nullopt if it is none.
Result<std::optional<meaning::MatrixDecoding>> matrix_of_object(ServedFile& file, const OpenedObject& object,
                                                                RequestBudget& budget);

}  // namespace h5mount::tree
