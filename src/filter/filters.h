// Private to the module: declarations that the filters' source files share.
#pragma once

#include <string>

#include "h5mount/filter/filter.h"

namespace h5mount::filter {

using FilterPtr = std::shared_ptr<const Filter>;

// The factories of filters that have parameters, or that can decode in parts; those of a library are defined
// only if it was found.
using Factory = Result<FilterPtr>(const FilterSpec& spec, std::size_t chunk_bytes);
Factory make_bitshuffle, make_blosc1, make_blosc2, make_fletcher32, make_lz4, make_nbit, make_scale_offset,
    make_shuffle, make_szip, make_zfp;
// A filter that decodes in helper processes. Fails with NotFound if plugins are disabled or none has this
// filter; else with the reason why no helper can be started.
Factory make_plugin_filter;

// Makes a filter whose stored bytes are one stream of a codec that needs none of the client data. `More`:
// further parameters of the codec, which are empty.
template <auto Decode, class... More>
Result<FilterPtr> make_codec(const FilterSpec&, std::size_t) {
  class Codec final : public Filter {
   public:
    Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
      return Decode(in, out, More{}...);
    }
  };
  return std::make_shared<Codec>();
}

// Fails with FilterFailed and the message "filter: what".
inline std::unexpected<Error> failed(std::string_view filter, std::string_view what) {
  return fail(Error(ErrorCode::FilterFailed, std::string(filter) + ": " + std::string(what)));
}
// The error of a codec whose library this build does not have.
inline std::unexpected<Error> not_built_in(std::string_view codec, std::string_view library) {
  return fail(Error(ErrorCode::UnsupportedFeature, std::string(codec) + " is not available: needs " +
                                                       std::string(library) + " at build time"));
}
inline std::unexpected<Error> bad_client_data(std::string_view filter, std::string_view what) {
  return fail(Error(ErrorCode::FilterFailed, std::string(filter) + " client data: " + std::string(what)));
}

}  // namespace h5mount::filter
