// What conventions say of the datasets of a file. Threads: any.
#pragma once

#include <optional>

#include "h5mount/meaning/decoding.h"
#include "h5mount/meaning/maps.h"
#include "h5mount/meaning/matrices.h"
#include "h5mount/meaning/tables.h"
#include "object_facts.h"

namespace h5mount::tree {

inline constexpr std::string_view kDecodedXattr = "user.hdf5.decoded";

// Returns nullopt if none speaks of the object. Of groups only the text.
Result<std::optional<meaning::Decoding>> decoding_of_object(ServedFile& file, const OpenedObject& object,
                                                            RequestBudget& budget);

// Returns nullopt if none says that the object is a table.
Result<std::optional<meaning::TableDecoding>> table_of_object(ServedFile& file, const OpenedObject& object,
                                                              dataset::ShownAs form, RequestBudget& budget);

// The value of user.hdf5.decoded of an object; empty: no convention speaks of it.
Result<std::string> decoded_text_of(ServedFile& file, const OpenedObject& object, RequestBudget& budget);

// The object as a map, of which `decoding` is what conventions say besides, or null; nullopt: it is none.
// `path`: of the object; empty: not known.
Result<std::optional<meaning::Map>> map_of_object(ServedFile& file, const OpenedObject& object,
                                                  const meaning::Decoding* decoding, std::string_view path,
                                                  RequestBudget& budget);

// The sparse matrix that the object is; nullopt if it is none.
Result<std::optional<meaning::MatrixDecoding>> matrix_of_object(ServedFile& file, const OpenedObject& object,
                                                                RequestBudget& budget);

}  // namespace h5mount::tree
