// An HDF5 file in memory whose datasets are read through views, without a tree and without a mount.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/view/derived.h"
#include "h5mount/view/view.h"
#include "support/h5py_file.h"

namespace h5mount::test {

class ViewFile {
 public:
  explicit ViewFile(std::vector<std::byte> bytes) {
    auto files = object::FileSet::open(io::make_memory_source(std::move(bytes)), metadata::MetadataOptions{});
    if (!files) throw std::runtime_error(files.error().text());
    environment_ = {std::make_shared<cache::BlockCache>(16U << 20), std::make_shared<cache::WorkerPool>(2),
                    *std::move(files)};
  }

  object::DatasetDescription description(std::string_view path) const {
    const metadata::FileMetadataPtr file = environment_.files->main()->snapshot();
    const auto address = object::resolve_path(file, file->root_address(), path);
    const auto object = object::open_object(*file, address.value());
    return object::describe_dataset(*file, object.value()).value();
  }
  view::DatasetReaderPtr reader(std::string_view path) const {
    return dataset::open_dataset(environment_, environment_.files->main(), description(path)).value();
  }
  view::ViewInput source(view::DatasetReaderPtr reader) const {
    const object::OpenedFilePtr& file = environment_.files->main();
    return {std::move(reader), {file->snapshot(), {}}, environment_, file};
  }
  view::ComputedFilePtr make(const view::View& view, view::DatasetReaderPtr reader) const {
    const auto unfit = view.unfit(reader->description(), Unbounded());
    EXPECT_TRUE(unfit && !*unfit) << (unfit ? unfit->value_or("") : unfit.error().text());
    const auto promised = view.size(reader->description(), Unbounded());
    auto made = view.make(source(std::move(reader)), {}, Unbounded());
    if (!made) throw std::runtime_error(made.error().text());
    EXPECT_TRUE(promised) << promised.error().text();
    if (promised && *promised) EXPECT_EQ(**promised, (*made)->size()) << "what stat says before it is opened";
    return *std::move(made);
  }

  // A dataset, or a part of it, in the view whose directory or suffix is named; "" is the raw one.
  view::ComputedFilePtr open(std::string_view view, std::string_view path,
                             const view::DerivationPtr& part = nullptr) const {
    view::DatasetReaderPtr of = reader(path);
    if (part) of = part->open(std::move(of)).value();
    return make(view_named(view), std::move(of));
  }
  // Why a view does not show a dataset; empty where it does.
  std::string unfit(std::string_view view, std::string_view path) const {
    return view_named(view).unfit(description(path), Unbounded()).value().value_or("");
  }

  const dataset::ReadEnvironment& environment() const { return environment_; }

 private:
  static const view::View& view_named(std::string_view name) {
    for (const view::View& view : view::views())
      if (!name.empty() && view.directory == name) return view;
    return view::view_by_suffix(name);
  }

  dataset::ReadEnvironment environment_;
};

// What a request for these bytes gives.
inline std::string bytes_of(const view::ComputedFile& file, std::uint64_t offset, std::uint64_t length,
                            dataset::ReadPattern* pattern = nullptr) {
  dataset::Pieces pieces;
  const Status done = file.read(offset, length, {pattern, Unbounded()}, pieces);
  if (!done) return "error: " + done.error().text();
  std::string out(static_cast<std::size_t>(pieces.total()), '\0');
  EXPECT_TRUE(dataset::copy_pieces(pieces.list(), std::as_writable_bytes(std::span(out))));
  return out;
}
inline std::string all_of(const view::ComputedFile& file) {
  return bytes_of(file, 0, format::kUnlimited);
}

// Where two texts part, with what is there; empty where they are equal.
inline std::string difference(std::string_view found, std::string_view wanted) {
  if (found == wanted) return {};
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(found, wanted).in1 - found.begin());
  const std::size_t begin = at - std::min<std::size_t>(at, 40), most = 100;
  return "at " + std::to_string(at) + " of " + std::to_string(wanted.size()) + ": " +
         testing::PrintToString(std::string(found.substr(begin, most))) + " and not " +
         testing::PrintToString(std::string(wanted.substr(begin, most)));
}

// The file is these bytes: its size, all of it in one request, both sides of every cut, ranges at random (all
// of a small file's), and what one who reads forward gets.
inline void expect_file(const view::ComputedFile& file, std::string_view wanted) {
  ASSERT_EQ(difference(all_of(file), wanted), "");
  ASSERT_EQ(file.size(), wanted.size());
  const std::uint64_t size = wanted.size();
  for (std::uint64_t cut = 0; cut <= size; ++cut) {
    ASSERT_EQ(bytes_of(file, 0, cut), wanted.substr(0, cut)) << "before " << cut;
    ASSERT_EQ(bytes_of(file, cut, format::kUnlimited - cut), wanted.substr(cut)) << "from " << cut;
  }
  constexpr std::uint64_t kSmall = 80, kRandom = 1000;
  std::mt19937_64 random(7);
  for (std::uint64_t i = 0; i < (size <= kSmall ? size * size : kRandom); ++i) {
    const std::uint64_t offset = size <= kSmall ? i / size : random() % size;
    const std::uint64_t length = size <= kSmall ? i % size : random() % size;
    ASSERT_EQ(bytes_of(file, offset, length), wanted.substr(offset, length)) << offset << " + " << length;
  }
  dataset::ReadPattern pattern;
  for (std::uint64_t at = 0, step = 1; at < size; at += step, step = step * 3 % 61)
    ASSERT_EQ(bytes_of(file, at, step, &pattern), wanted.substr(at, step)) << "forward at " << at;
  EXPECT_EQ(bytes_of(file, size, 1), "");
  EXPECT_EQ(bytes_of(file, size + 4096, 1), "");
}

// A number's bytes in a byte order, as the definition of positional numbers has them.
enum class Order : std::uint8_t { Little, Big };
inline std::string number(std::uint64_t value, std::size_t bytes, Order order = Order::Little) {
  std::string out(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i)
    out[order == Order::Little ? i : bytes - 1 - i] = static_cast<char>(i < 8 ? value >> (8 * i) & 0xFF : 0);
  return out;
}
inline std::string numbers(const std::vector<std::uint64_t>& values, std::size_t bytes,
                           Order order = Order::Little) {
  std::string out;
  for (const std::uint64_t value : values) out += number(value, bytes, order);
  return out;
}

}  // namespace h5mount::test
