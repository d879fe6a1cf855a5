// Parts that the types of both versions of Zarr share.
#pragma once

#include "h5mount/view/zarr.h"

namespace h5mount::view {

// Appends a part of the stored element, joined with the previous one if adjacent. Fails with
// UnsupportedFeature if there are too many parts.
Status add_segment(ZarrType& out, ZarrType::Segment segment);
// Appends the segments of a member at `offset`, and of items that follow one another in `bytes` bytes.
Status add_segments(ZarrType& out, const ZarrType& inner, std::uint64_t offset);
Status add_repeated(ZarrType& out, const ZarrType& inner, std::uint64_t item_bytes, std::uint64_t bytes);

// zarr_type for version 3.
Result<ZarrType> version3_type(const format::Datatype& type);

// The attribute `_FillValue` of a dataset of this type in the form that the registry of Zarr's extensions
// defines ("The value is first converted to the little-endian 64-bit IEEE-754 representation", in base64):
// JSON. Returns nullopt if it has no such form: readers would take it for another number, or refuse the
// array.
std::optional<std::string> version3_fill_attribute(const format::Datatype& dataset,
                                                   const format::Datatype& type, ByteSpan element);

}  // namespace h5mount::view
