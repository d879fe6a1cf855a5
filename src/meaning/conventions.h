// The conventions, each in a file of its own.
#pragma once

#include "h5mount/meaning/decoding.h"
#include "h5mount/meaning/tables.h"

namespace h5mount::meaning {

// CF (https://cfconventions.org, "Packed Data", "Missing Data") and netCDF ("Attribute Conventions"):
// scale_factor, add_offset, _FillValue, missing_value, valid_min, valid_max, valid_range, _Unsigned.
Result<std::optional<Decoding>> decode_cf(const Subject& subject);
// MATLAB's files of version 7.3, as MATLAB, hdf5storage and matio write them: MATLAB_class, MATLAB_empty,
// MATLAB_object_decode.
Result<std::optional<Decoding>> decode_matlab(const Subject& subject);

// PyTables (https://www.pytables.org): Time32 and Time64, booleans, vlarrays of texts; says which are
// pickled.
Result<std::optional<Decoding>> decode_pytables(const Subject& subject);

// Groups that are tables.
//
// AnnData's dataframes, and NWB's dynamic tables.
Result<std::optional<TableDecoding>> decode_anndata(const GroupSubject& subject);
Result<std::optional<TableDecoding>> decode_nwb(const GroupSubject& subject);
// pandas' HDFStore.
Result<std::optional<TableDecoding>> decode_pandas(const GroupSubject& subject);

}  // namespace h5mount::meaning
