#include <gtest/gtest.h>

#include <future>

#include "../../src/fuse/ops/column_ahead.h"

namespace h5mount::fuse {
namespace {

constexpr std::uint64_t kRow = 65536, kRows = 1024, kPage = 4096;
constexpr tree::NodeId kNode = 7;

// Zeros.
class Zeros final : public dataset::DatasetReader {
 public:
  Zeros() : DatasetReader(described()) {}
  Status read(std::uint64_t, std::uint64_t length, dataset::ReadAccess, dataset::Pieces& out) const override {
    const auto block = std::make_shared<const std::string>(static_cast<std::size_t>(length), '\0');
    out.add(as_bytes(*block), block);
    return {};
  }
  Status read_into(std::uint64_t, MutableByteSpan out, RequestBudget&) const override {
    std::ranges::fill(out, std::byte{});
    return {};
  }
  Result<std::uint64_t> storage_bytes(RequestBudget&) const override { return size(); }
  std::optional<std::uint64_t> storage_bytes_known() const override { return size(); }
  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget&) const override { return offset; }
  Result<std::uint64_t> find_hole(std::uint64_t, RequestBudget&) const override { return size(); }
  std::optional<Error> problem() const override { return std::nullopt; }

 private:
  static object::DatasetDescription described() {
    object::DatasetDescription out;
    out.element_size = 1;
    out.space.dims = {kRows, kRow};
    out.image_bytes = kRows * kRow;
    return out;
  }
};

class Kernel final : public tree::KernelPages {
 public:
  void invalidate(tree::NodeId, const std::vector<dataset::ByteRange>&, std::function<void()>) override {}
  bool store(tree::NodeId node, std::uint64_t, const dataset::Pieces&) override {
    EXPECT_EQ(node, kNode);
    ++stored;
    return true;
  }
  std::atomic<std::uint64_t> stored = 0;
};

class OpenZeros final : public tree::OpenNode {
 public:
  explicit OpenZeros(bool fixed) : fixed_(fixed) {}
  Status read(std::uint64_t, std::uint64_t, dataset::Pieces&, RequestBudget&) override { return {}; }
  Result<std::uint64_t> seek_data(std::uint64_t offset, RequestBudget&) override { return offset; }
  Result<std::uint64_t> seek_hole(std::uint64_t offset, RequestBudget&) override { return offset; }
  std::optional<tree::FixedImage> fixed_image() const override {
    if (!fixed_) return std::nullopt;
    return tree::FixedImage{reader_, {cache_, workers, nullptr}, [this] { return as_opened.load(); }};
  }
  // Waits for all jobs that were submitted so far.
  void settle() const {
    std::promise<void> reached;
    ASSERT_TRUE(workers->submit([&] { reached.set_value(); }));
    reached.get_future().wait();
  }

  std::shared_ptr<cache::WorkerPool> workers = std::make_shared<cache::WorkerPool>(1);
  std::atomic<bool> as_opened = true;

 private:
  const bool fixed_;
  std::shared_ptr<cache::BlockCache> cache_ = std::make_shared<cache::BlockCache>(1U << 20);
  std::shared_ptr<const dataset::DatasetReader> reader_ = std::make_shared<Zeros>();
};

TEST(ColumnAhead, IsForFilesWhosePagesCanBeStored) {
  const auto kernel = std::make_shared<Kernel>();
  EXPECT_EQ(ColumnAhead::make(OpenZeros(false), kNode, kernel), nullptr);
  EXPECT_EQ(ColumnAhead::make(OpenZeros(true), kNode, nullptr), nullptr);
  OpenZeros alone(true);
  alone.workers = nullptr;
  EXPECT_EQ(ColumnAhead::make(alone, kNode, kernel), nullptr);
  EXPECT_NE(ColumnAhead::make(OpenZeros(true), kNode, kernel), nullptr);
}

TEST(ColumnAhead, StoresTheNextPagesOfAColumnAsLongAsTheFileIsAsItWasOpened) {
  const auto kernel = std::make_shared<Kernel>();
  OpenZeros file(true);
  const auto prefetch = ColumnAhead::make(file, kNode, kernel);
  ASSERT_NE(prefetch, nullptr);
  std::uint64_t row = 0;
  while (kernel->stored == 0 && row < 64) {
    prefetch->note(row++ * kRow, kPage);
    file.settle();
  }
  const std::uint64_t stored = kernel->stored;
  EXPECT_GT(stored, 0U);
  // Another column, which is long enough to be recognised.
  const auto read_column = [&](std::uint64_t column) {
    for (std::uint64_t i = 0; i < 64; ++i) prefetch->note(i * kRow + column * kPage, kPage);
    file.settle();
  };
  read_column(3);
  EXPECT_GT(kernel->stored, stored);
  file.as_opened = false;
  const std::uint64_t before = kernel->stored;
  read_column(5);
  EXPECT_EQ(kernel->stored, before);
  // What was seen to change is not trusted again.
  file.as_opened = true;
  read_column(7);
  EXPECT_EQ(kernel->stored, before);
}

}  // namespace
}  // namespace h5mount::fuse
