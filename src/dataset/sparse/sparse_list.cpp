#include "sparse_list.h"

#include <algorithm>
#include <map>

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kRenderBytes = 1U << 20;  // bytes of the list that are rendered at once

Error list_too_long() {
  return {ErrorCode::LimitExceeded, "one row of chunks holds more elements than can be listed at once"};
}

}  // namespace

std::span<const std::uint64_t> SparseList::elements_of(const cache::Block& list) const {
  return {reinterpret_cast<const std::uint64_t*>(list.bytes().data()),
          static_cast<std::size_t>(list.size() / (8 + plan_.element_size()))};
}

std::uint64_t SparseList::next_defined(std::uint64_t at, RequestBudget& budget) const {
  const std::uint64_t row_block = plan_.row_block_at(at), e = plan_.element_size();
  const auto list = row_block_list(row_block, 0, budget);
  if (!list) return at;
  const auto elements = elements_of(**list);
  const auto it = std::ranges::lower_bound(elements, at / e);
  return it == elements.end() ? plan_.row_block_offset(row_block + 1) : std::max(at, *it * e);
}

std::uint64_t SparseList::end_of_defined(std::uint64_t at, RequestBudget& budget) const {
  const std::uint64_t row_block = plan_.row_block_at(at), e = plan_.element_size();
  const auto list = row_block_list(row_block, 0, budget);
  if (!list) return plan_.row_block_offset(row_block + 1);
  const auto elements = elements_of(**list);
  auto it = std::ranges::lower_bound(elements, at / e);
  std::uint64_t last = at / e;
  while (it != elements.end() && *it <= last + 1) last = *it++;
  return (last + 1) * e;
}

Result<SparseList::CountsPtr> SparseList::count_all(RequestBudget& budget) const {
  std::map<std::uint64_t, std::uint64_t> by_row_block;
  auto made = std::make_shared<Counts>();
  Status status;
  H5_TRY(
      store_.index().for_each([&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord& record) {
        if (!record.allocated()) return true;
        const std::uint64_t chunk = row_major_number(scaled, plan_.index_grid());
        std::uint64_t n = 0;
        status = store_.for_each_element(chunk, budget, [&](std::uint64_t, ByteSpan) { ++n; });
        if (status && n > 0) {
          by_row_block[chunk / plan_.chunks_per_row_block()] += n;
          made->chunks.push_back(chunk);
        }
        return status.has_value();
      }));
  H5_TRY(std::move(status));
  std::ranges::sort(made->chunks);
  made->before.push_back(0);
  for (const auto& [row_block, n] : by_row_block) {
    made->row_blocks.push_back(row_block);
    made->before.push_back(made->before.back() + n);
  }
  return made;
}

Result<std::uint64_t> SparseList::count(RequestBudget& budget) const {
  H5_ASSIGN(const auto all, counts(budget));
  return all->before.back();
}

Result<cache::BlockPtr> SparseList::row_block_list(std::uint64_t row_block, std::uint64_t expected,
                                                   RequestBudget& budget) const {
  const cache::BlockKey key{store_.owner(), SparseStore::kRowBlockList, row_block};
  if (auto block = store_.cache().peek(key)) return block;
  const auto bytes = checked_mul(expected, 8 + plan_.element_size());
  if (!bytes || *bytes > most_bytes_) return fail(list_too_long());
  return store_.cache().get_or_make(
      key, static_cast<std::size_t>(*bytes), [&] { return make_row_block_list(row_block, expected, budget); },
      budget);
}

// The chunks of a row block that are allocated. A row block may be 2^60 chunks wide while the file holds a
// few of them: then the file's chunks are searched instead of the row block.
Result<std::vector<std::uint64_t>> SparseList::allocated_chunks(std::uint64_t row_block,
                                                                RequestBudget& budget) const {
  constexpr std::uint64_t kMaxSoughtEach = 1U << 16;
  const std::uint64_t width = plan_.chunks_per_row_block();
  if (width > kMaxSoughtEach) {
    H5_ASSIGN(const auto all, counts(budget));
    const auto within = std::ranges::equal_range(all->chunks, row_block, {},
                                                 [&](std::uint64_t chunk) { return chunk / width; });
    return std::vector<std::uint64_t>(within.begin(), within.end());
  }
  std::vector<chunk::ChunkRecord> records(static_cast<std::size_t>(width));
  std::uint64_t scaled[limits::kMaxRank];
  const std::span<std::uint64_t> at(scaled, plan_.index_rank());
  plan_.scaled_of(row_block * width, at);
  H5_TRY(store_.index().find_run(at, records));
  std::vector<std::uint64_t> chunks;
  for (std::size_t k = 0; k < records.size(); ++k)
    if (records[k].allocated()) chunks.push_back(row_block * width + k);
  return chunks;
}

Result<std::shared_ptr<cache::Block>> SparseList::make_row_block_list(std::uint64_t row_block,
                                                                      std::uint64_t expected,
                                                                      RequestBudget& budget) const {
  struct Item {
    std::uint64_t element;
    std::uint64_t value;  // byte offset in `values`
  };
  std::vector<Item> items;
  std::vector<std::byte> values;
  const auto e = static_cast<std::size_t>(plan_.element_size());
  const auto most = static_cast<std::size_t>(most_bytes_ / (8 + e));
  bool too_long = false;
  items.reserve(static_cast<std::size_t>(expected));
  H5_ASSIGN(const auto chunks, allocated_chunks(row_block, budget));
  for (const std::uint64_t chunk : chunks)
    H5_TRY(store_.for_each_element(chunk, budget, [&](std::uint64_t element, ByteSpan value) {
      if (too_long = too_long || items.size() >= most; too_long) return;
      items.push_back({element, values.size()});
      values.insert(values.end(), value.begin(), value.end());
    }));
  if (too_long) return fail(list_too_long());
  std::ranges::sort(items, {}, &Item::element);
  auto block = std::make_shared<cache::Block>(items.size() * (8 + e));
  std::byte* numbers = block->bytes().data();
  std::byte* ordered = numbers + items.size() * 8;
  for (const Item& item : items) {
    std::memcpy(numbers, &item.element, 8);
    std::memcpy(ordered, values.data() + item.value, e);
    numbers += 8;
    ordered += e;
  }
  return block;
}

template <class Render>
Status SparseList::read_items(std::uint64_t item_bytes, std::uint64_t offset, std::uint64_t length,
                              Pieces& out, RequestBudget& budget, Render render) const {
  H5_ASSIGN(const auto all, counts(budget));
  const auto total = checked_mul(all->before.back(), item_bytes);
  if (!total || offset >= *total) return {};
  const std::uint64_t request_end = offset + std::min(length, *total - offset);
  while (offset < request_end) {
    const std::uint64_t end = std::min(request_end, offset + kRenderBytes);
    const std::uint64_t first = offset / item_bytes, last = divide_up(end, item_bytes);
    auto block = std::make_shared<cache::Block>(static_cast<std::size_t>((last - first) * item_bytes));
    for (std::uint64_t item = first; item < last;) {
      const auto after = std::ranges::upper_bound(all->before, item);
      const auto slot = static_cast<std::size_t>(after - all->before.begin()) - 1;
      const std::uint64_t in_list = all->before[slot + 1] - all->before[slot];
      H5_ASSIGN(const cache::BlockPtr list, row_block_list(all->row_blocks[slot], in_list, budget));
      if (elements_of(*list).size() != in_list)
        return fail(Error(ErrorCode::Stale, "the sparse dataset changed while it was read"));
      const std::uint64_t n = std::min(last, all->before[slot + 1]) - item;
      render(*list, in_list, item - all->before[slot], n,
             block->bytes().subspan(static_cast<std::size_t>((item - first) * item_bytes)));
      item += n;
    }
    out.add(std::as_const(*block).bytes().subspan(static_cast<std::size_t>(offset - first * item_bytes),
                                                  static_cast<std::size_t>(end - offset)),
            block);
    offset = end;
  }
  return {};
}

Status SparseList::read_coordinates(std::uint64_t offset, std::uint64_t length, Pieces& out,
                                    RequestBudget& budget) const {
  const auto dims = store_.dims();
  return read_items(
      8 * dims.size(), offset, length, out, budget,
      [&](const cache::Block& list, std::uint64_t, std::uint64_t first, std::uint64_t n, MutableByteSpan to) {
        std::uint64_t at[limits::kMaxRank];
        for (std::uint64_t k = 0; k < n; ++k) {
          row_major_place(elements_of(list)[static_cast<std::size_t>(first + k)], dims, at);
          std::memcpy(to.data() + k * dims.size() * 8, at, dims.size() * 8);
        }
      });
}

Status SparseList::read_values(std::uint64_t offset, std::uint64_t length, Pieces& out,
                               RequestBudget& budget) const {
  const std::uint64_t e = plan_.element_size();
  return read_items(e, offset, length, out, budget,
                    [&](const cache::Block& list, std::uint64_t in_list, std::uint64_t first, std::uint64_t n,
                        MutableByteSpan to) {
                      std::memcpy(to.data(), list.bytes().data() + in_list * 8 + first * e,
                                  static_cast<std::size_t>(n * e));
                    });
}

}  // namespace h5mount::dataset
