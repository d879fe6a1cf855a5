// Seed inputs of the fuzz targets: the vectors, each for the decoder of its last filter, and a stream for
// each decoder that no vector covers alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vectors.h"

namespace h5mount::test {

struct FuzzInput {
  std::string decoder;
  Bytes bytes;
};

inline Bytes fuzz_bytes(std::size_t chunk_bytes, const std::vector<std::uint32_t>& client_data,
                        ByteSpan stored) {
  Bytes bytes = {static_cast<std::byte>(chunk_bytes), static_cast<std::byte>(chunk_bytes >> 8),
                 static_cast<std::byte>(client_data.size())};
  const ByteSpan values = std::as_bytes(std::span(client_data));
  bytes.insert(bytes.end(), values.begin(), values.end());
  bytes.insert(bytes.end(), stored.begin(), stored.end());
  return bytes;
}

inline std::vector<FuzzInput> fuzz_inputs() {
  std::vector<FuzzInput> inputs;
  for (const Vector& vector : all_vectors()) {
    const filter::FilterSpec& spec = vector.specs.back();
    const filter::FilterInfo info = filter::filter_info(spec.id);
    if (!info.available) continue;
    inputs.push_back(
        {std::string(info.name), fuzz_bytes(vector.chunk_bytes, spec.client_data, vector.stored)});
    if (spec.id != 32026) continue;
    inputs.push_back({"blosc2-array", fuzz_bytes(vector.chunk_bytes, {}, vector.stored)});
    // The first inner chunk follows the frame's header, whose length is the frame's second field.
    const std::size_t header = load_be<std::uint32_t>(vector.stored.data() + 11);
    if (header < vector.stored.size()) {
      const ByteSpan chunk = ByteSpan(vector.stored).subspan(header);
      const std::size_t nbytes = chunk.size() < 8 ? 0 : load_le<std::uint32_t>(chunk.data() + 4);
      inputs.push_back({"blosc2-chunk", fuzz_bytes(nbytes, {}, chunk)});
    }
  }
  // Literals, a short match, a long match, a large distance.
  inputs.push_back({"blosclz", fuzz_bytes(300, {}, from_hex("03616263642003e0ff0a0000653fff0001"))});
  inputs.push_back({"snappy", fuzz_bytes(20, {}, from_hex("140c616263643e0400"))});
  return inputs;
}

}  // namespace h5mount::test
