// Parts of concatenated datasets in memory, and the image of the whole, assembled element by element.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <numeric>

#include "concat/concatenated_reader.h"
#include "h5mount/dataset/converted_dataset.h"
#include "metadata/memory_file.h"

namespace h5mount::test {

using Bytes = std::vector<std::byte>;

inline dataset::ReadEnvironment concat_environment(unsigned threads = 2) {
  return {std::make_shared<cache::BlockCache>(64U << 20), std::make_shared<cache::WorkerPool>(threads),
          nullptr};
}

inline object::DatasetDescription described(const format::DatatypePtr& type,
                                            std::vector<std::uint64_t> dims) {
  object::DatasetDescription out;
  out.type = type;
  out.element_size = type->size;
  out.image_bytes = std::accumulate(dims.begin(), dims.end(), std::uint64_t{type->size}, std::multiplies<>());
  out.space.kind = dims.empty() ? format::DataspaceKind::Scalar : format::DataspaceKind::Simple;
  out.space.max_dims = dims;
  out.space.dims = std::move(dims);
  return out;
}

// A dataset that holds these elements.
inline dataset::DatasetReaderPtr holding(const format::DatatypePtr& type, std::vector<std::uint64_t> dims,
                                         Bytes elements) {
  object::DatasetDescription d = described(type, std::move(dims));
  d.layout.cls = format::LayoutClass::Compact;
  d.layout.compact_data = std::move(elements);
  auto reader = dataset::open_dataset(concat_environment(1), nullptr, std::move(d));
  EXPECT_TRUE(reader);
  return *reader;
}

class TestParts final : public dataset::ConcatenatedParts {
 public:
  struct Part {
    std::uint64_t length = 0, identity = 0;
    std::function<Result<dataset::OpenedPart>()> open;
  };
  void add(std::uint64_t length, std::function<Result<dataset::OpenedPart>()> open) {
    add({length, parts_.size() + 1, std::move(open)});
  }
  void add(std::uint64_t length, dataset::DatasetReaderPtr reader) {
    add(length, [reader] { return dataset::OpenedPart{reader, nullptr}; });
  }
  void add(Part part) {
    starts_.push_back(starts_.back() + part.length);
    parts_.push_back(std::move(part));
  }

  const std::vector<std::uint64_t>& starts() const override { return starts_; }
  std::uint64_t identity(std::size_t part) const override { return parts_[part].identity; }
  Result<dataset::OpenedPart> open(std::size_t part, RequestBudget&) const override {
    ++opened;
    const std::uint64_t now = ++opening;
    for (std::uint64_t most = most_opening; most < now && !most_opening.compare_exchange_weak(most, now);) {
    }
    auto out = parts_[part].open();
    --opening;
    return out;
  }
  Status check(std::size_t part) const override {
    if (part == changed) return fail({ErrorCode::Stale, "another file"});
    return {};
  }
  std::string name(std::size_t part) const override { return "file " + std::to_string(part); }

  mutable std::atomic<std::uint64_t> opened = 0, opening = 0, most_opening = 0;
  std::atomic<std::size_t> changed = SIZE_MAX;

 private:
  std::vector<std::uint64_t> starts_{0};
  std::vector<Part> parts_;
};

inline dataset::ConcatenatedDataset whole_of(const std::shared_ptr<const TestParts>& parts,
                                             const format::DatatypePtr& type, std::vector<std::uint64_t> dims,
                                             std::size_t dimension, Bytes gap_fill = {}) {
  dims[dimension] = parts->starts().back();
  dataset::ConcatenatedDataset whole;
  whole.description = described(type, std::move(dims));
  whole.dimension = dimension;
  whole.gap_fill = std::move(gap_fill);
  whole.parts = parts;
  return whole;
}

inline dataset::DatasetReaderPtr opened_whole(dataset::ConcatenatedDataset whole,
                                              std::size_t most_open = dataset::OpenParts::kMost) {
  auto next = dataset::ConcatenatedReader::open(concat_environment(), std::move(whole), nullptr, most_open);
  EXPECT_TRUE(next) << next.error().text();
  return next ? next->reader : nullptr;
}

inline Bytes all_of(const dataset::DatasetReader& reader, dataset::ReadPattern* pattern = nullptr,
                    std::uint64_t request = 1U << 20) {
  Bytes out;
  for (std::uint64_t at = 0; at < reader.size(); at += request) {
    dataset::Pieces pieces;
    const Status read = reader.read(at, request, {pattern, Unbounded()}, pieces);
    EXPECT_TRUE(read) << read.error().text();
    const std::size_t begin = out.size();
    out.resize(begin + pieces.total());
    EXPECT_TRUE(dataset::copy_pieces(pieces.list(), MutableByteSpan(out).subspan(begin)));
    if (pattern != nullptr) EXPECT_TRUE(pattern->confirm_mapped());
  }
  return out;
}

// Puts parts of `item` bytes an element behind one another along a dimension, by the definition. `images`:
// each with its extent there and what the whole shows of it.
struct PartImage {
  Bytes bytes;
  std::uint64_t extent, shown;
};
inline Bytes joined_images(const std::vector<PartImage>& images, std::vector<std::uint64_t> dims,
                           std::size_t dimension, std::size_t item) {
  std::uint64_t before = 1, behind = item;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (i != dimension) (i < dimension ? before : behind) *= dims[i];
  Bytes out;
  for (std::uint64_t row = 0; row < before; ++row)
    for (const PartImage& part : images)
      for (std::uint64_t i = 0; i < part.shown * behind; ++i)
        out.push_back(part.bytes[static_cast<std::size_t>(row * part.extent * behind + i)]);
  return out;
}

template <class Number>
Bytes bytes_of(const std::vector<Number>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

}  // namespace h5mount::test
