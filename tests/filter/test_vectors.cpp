// Every chunk of vectors.txt as it is, cut at every length, and with every byte changed.
#include "vectors.h"

#include "guarded.h"

namespace h5mount::filter {
namespace {

using namespace test;

constexpr std::size_t kMaxBytes = 1U << 20;

TEST(FilterVectors, AreAllThere) {
  EXPECT_GT(all_vectors().size(), 150U);
  for (const std::uint16_t id :
       {1, 2, 3, 4, 5, 6, 307, 32000, 32001, 32004, 32008, 32013, 32015, 32018, 32026}) {
    bool found = false;
    for (const Vector& vector : all_vectors()) {
      for (const FilterSpec& spec : vector.specs) found = found || spec.id == id;
    }
    EXPECT_TRUE(found) << id;
  }
}

TEST(FilterVectors, Decode) {
  for (const Vector& vector : all_vectors()) {
    if (!vector.available()) continue;
    const auto decoded = decode(vector.specs, vector.stored, vector.chunk_bytes, vector.mask);
    ASSERT_TRUE(decoded) << vector.name << ": " << decoded.error().text();
    EXPECT_EQ(fnv1a(*decoded), vector.hash) << vector.name;
  }
}

TEST(FilterVectors, NothingIsMissingWhereTheLibrariesAreThere) {
  for (const std::uint16_t id : {4, 307, 32004, 32013, 32015, 32018}) {
    if (!filter_info(id).available) GTEST_SKIP() << "built without filter " << id;
  }
  for (const Vector& vector : all_vectors()) {
    const bool snappy = vector.name.find("snappy") != std::string::npos;
    EXPECT_TRUE(vector.available() || snappy) << vector.name;
  }
}

// Decodes at the edges of both buffers, to detect accesses beyond them. The result does not matter.
class Edge {
 public:
  bool decode(const FilterPipeline& pipeline, ByteSpan stored, std::uint32_t mask, std::size_t size) {
    return pipeline.decode(in_.copy(stored), mask, out_.last(size), scratch_).has_value();
  }

 private:
  Guarded in_{kMaxBytes};
  Guarded out_{kMaxBytes};
  FilterScratch scratch_;
};

TEST(FilterVectors, CutAtEveryLength) {
  Edge edge;
  for (const Vector& vector : all_vectors()) {
    if (!vector.available()) continue;
    SCOPED_TRACE(vector.name);
    const auto pipeline = FilterPipeline::make(vector.specs, vector.chunk_bytes);
    ASSERT_TRUE(pipeline);
    for (std::size_t length = 0; length <= vector.stored.size(); ++length) {
      edge.decode(**pipeline, ByteSpan(vector.stored).first(length), vector.mask, vector.chunk_bytes);
    }
  }
}

TEST(FilterVectors, EveryByteChanged) {
  Edge edge;
  Random random(11);
  for (const Vector& vector : all_vectors()) {
    if (!vector.available()) continue;
    SCOPED_TRACE(vector.name);
    const auto pipeline = FilterPipeline::make(vector.specs, vector.chunk_bytes);
    for (std::size_t at = 0; at < vector.stored.size(); ++at) {
      for (const unsigned change : {0x01U, 0x80U, 0xffU, static_cast<unsigned>(random.next() >> 56)}) {
        Bytes bad = vector.stored;
        bad[at] ^= static_cast<std::byte>(change);
        edge.decode(**pipeline, bad, vector.mask, vector.chunk_bytes);
      }
    }
  }
}

TEST(FilterVectors, AnotherChunkSizeIsRefused) {
  Edge edge;
  for (const Vector& vector : all_vectors()) {
    if (!vector.available()) continue;
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, vector.chunk_bytes - 1, vector.chunk_bytes + 1}) {
      if (size == vector.chunk_bytes) continue;
      const auto pipeline = FilterPipeline::make(vector.specs, size);
      EXPECT_FALSE(edge.decode(**pipeline, vector.stored, vector.mask, size)) << vector.name << ' ' << size;
    }
  }
}

TEST(FilterVectors, AnyClientDataIsHandled) {
  Edge edge;
  Random random(12);
  for (const Vector& vector : all_vectors()) {
    if (!vector.available()) continue;
    for (int round = 0; round < 40; ++round) {
      std::vector<FilterSpec> specs = vector.specs;
      FilterSpec& spec = specs[random.below(specs.size())];
      if (random.below(4) == 0) {
        spec.client_data.resize(random.below(spec.client_data.size() + 2));
      } else if (!spec.client_data.empty()) {
        std::uint32_t& value = spec.client_data[random.below(spec.client_data.size())];
        value = static_cast<std::uint32_t>(random.below(2) == 0 ? random.below(70) : random.next());
      }
      const auto pipeline = FilterPipeline::make(specs, vector.chunk_bytes);
      ASSERT_TRUE(pipeline);
      edge.decode(**pipeline, vector.stored, vector.mask, vector.chunk_bytes);
    }
  }
}

}  // namespace
}  // namespace h5mount::filter
