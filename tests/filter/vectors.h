// The chunks of vectors.txt (made by scripts/make_filter_vectors.py from what the reference libraries wrote),
// and of vectors_blosc2_plugins.txt: frames with filters and codecs that HDF5 writers do not use, written and
// verified by C-Blosc2 3.3.3 with libzfp 1.0.0.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bytes.h"
#include "support/corpus.h"

namespace h5mount::test {

struct Vector {
  std::string name;
  std::size_t chunk_bytes = 0;
  std::uint32_t mask = 0;
  std::size_t element_bytes = 0;
  std::vector<std::uint64_t> shape;
  std::vector<filter::FilterSpec> specs;
  Bytes stored;
  std::uint64_t hash = 0;

  // False where this build lacks a library: of the filter, or of a codec inside its container.
  bool available() const {
    const auto decoded = decode(specs, stored, chunk_bytes, mask);
    return decoded || decoded.error().code() != ErrorCode::UnsupportedFeature;
  }
};

inline std::uint64_t fnv1a(ByteSpan bytes) {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const std::byte byte : bytes)
    value = (value ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3ULL;
  return value;
}

template <class T>
std::vector<T> numbers(const std::string& text) {
  std::vector<T> values;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) values.push_back(static_cast<T>(std::stoull(one)));
  return values;
}

inline std::vector<filter::FilterSpec> specs_of(const std::string& text) {
  std::vector<filter::FilterSpec> specs;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ';');) {
    const auto colon = one.find(':');
    const auto id = static_cast<std::uint16_t>(std::stoul(one.substr(0, colon)));
    specs.push_back({id, "", numbers<std::uint32_t>(one.substr(colon + 1))});
  }
  return specs;
}

inline const std::vector<Vector>& all_vectors() {
  static const std::vector<Vector> vectors = [] {
    std::vector<Vector> all;
    std::stringstream in;
    for (const char* name : {"vectors.txt", "vectors_blosc2_plugins.txt"})
      in << std::ifstream(source_root() / "tests/filter" / name).rdbuf();
    Vector one;
    std::string shape, filters, stored, hash;
    while (in >> one.name >> one.chunk_bytes >> one.mask >> one.element_bytes >> shape >> filters >> stored >>
           hash) {
      one.shape = numbers<std::uint64_t>(shape);
      one.specs = specs_of(filters);
      one.stored = from_hex(stored);
      one.hash = std::stoull(hash, nullptr, 16);
      all.push_back(one);
    }
    return all;
  }();
  return vectors;
}

}  // namespace h5mount::test
