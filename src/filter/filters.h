// Private to the module: declarations that the filters' source files share. One factory per filter, called by
// the registry.
#pragma once

#include <string>

#include "h5mount/filter/filter.h"

namespace h5mount::filter {

using FilterPtr = std::shared_ptr<const Filter>;
using Maker = Result<FilterPtr> (*)(const FilterSpec& spec, std::size_t chunk_bytes);

// The registry's table refers to a factory only if its library was found, so no stubs are needed.
Result<FilterPtr> make_deflate(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_shuffle(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_fletcher32(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_szip(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_nbit(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_scale_offset(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_bzip2(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_lzf(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_blosc1(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_lz4(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_bitshuffle(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_zfp(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_zstd(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_jpeg_ls(const FilterSpec& spec, std::size_t chunk_bytes);
Result<FilterPtr> make_blosc2(const FilterSpec& spec, std::size_t chunk_bytes);

// Fails with FilterFailed and the message "filter: what".
inline std::unexpected<Error> failed(std::string_view filter, std::string_view what) {
  return fail(Error(ErrorCode::FilterFailed, std::string(filter) + ": " + std::string(what)));
}
inline std::unexpected<Error> bad_client_data(std::string_view filter, std::string_view what) {
  return fail(Error(ErrorCode::FilterFailed, std::string(filter) + " client data: " + std::string(what)));
}

}  // namespace h5mount::filter
