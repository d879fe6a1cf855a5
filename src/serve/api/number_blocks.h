// Reads the numbers of a dataset block by block, for computations. Threads: one.
#pragma once

#include <span>

#include "numbers.h"

namespace h5mount::serve {

inline constexpr std::uint64_t kStepsPerRun = 500;

// Charges a step for each byte of `reader`'s elements that must be read. Fails at once, with BudgetExceeded,
// if the request may not go through so many bytes.
Status spend_on_all(const dataset::DatasetReader& reader, RequestBudget& budget);

// The bytes that are read at once, and those that this takes meanwhile, in all.
inline constexpr std::uint64_t kNumberBlock = 1U << 20;
inline constexpr std::size_t kNumberBytes = 4 * kNumberBlock;

// Takes the numbers from `run.end` back to `offset`, where nothing was written: each element is the fill
// value.
template <class Number, class TakeRun>
Status take_unwritten(const dataset::DatasetReader& reader, std::uint64_t offset, std::uint64_t end,
                      RequestBudget& budget, TakeRun take_run) {
  const auto item = static_cast<std::size_t>(reader.description().element_size);
  std::vector<Number> element(item / sizeof(Number));
  H5_TRY(reader.read_into(offset, std::as_writable_bytes(std::span(element)), budget));
  for (const Number number : element) take_run(number, (end - offset) / item);
  return {};
}

// Calls `take` with the numbers in order, in as many parts as needed; Number must be the type of `reader`'s
// elements. All workers decode the storage. What was never written is not read: `take_run` gets a number and
// how often it follows there; if elements are arrays, the numbers of such a part come in another order.
template <class Number, class Take, class TakeRun>
Status for_each_block(const dataset::DatasetReader& reader, RequestWork& work, Take take, TakeRun take_run) {
  H5_TRY(spend_on_all(reader, work.budget()));
  dataset::ReadPattern pattern;
  std::vector<Number> block(static_cast<std::size_t>(std::min(kNumberBlock, reader.size()) / sizeof(Number)));
  dataset::WrittenRun run{0, true};
  for (std::uint64_t offset = 0; offset < reader.size();) {
    if (offset >= run.end) {
      H5_ASSIGN(run, reader.written_run(offset, work.budget()));
      H5_TRY(work.budget().spend(kStepsPerRun));
    }
    if (!run.written) {
      H5_TRY(take_unwritten<Number>(reader, offset, run.end, work.budget(), take_run));
      offset = run.end;
      continue;
    }
    const std::uint64_t length = std::min(block.size() * sizeof(Number), run.end - offset);
    const std::span<Number> part(block.data(), static_cast<std::size_t>(length / sizeof(Number)));
    dataset::Pieces pieces;
    H5_TRY(reader.read(offset, length, {&pattern, work.budget()}, pieces));
    if (pieces.total() != length) return fail({ErrorCode::Stale, "the dataset became shorter"});
    H5_TRY(dataset::copy_pieces(pieces.list(), std::as_writable_bytes(part)));
    take(std::span<const Number>(part));
    work.go_on();
    offset += length;
  }
  return {};
}

}  // namespace h5mount::serve
