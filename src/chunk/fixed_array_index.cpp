// Fixed array: header -> data block -> (pages). See format/fixed_array.h.
#include <algorithm>

#include "array_index.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/fixed_array.h"
#include "index_kinds.h"

namespace h5mount::chunk {

namespace {

constexpr std::string_view kFixedDataBlock = structures::kFixedArrayDataBlock;
constexpr std::string_view kFixedPage = structures::kFixedArrayDataBlockPage;

class FixedArrayIndex final : public ArrayIndex {
 public:
  FixedArrayIndex(metadata::FileMetadataPtr file, const ChunkGeometry& geometry, GridOrder order,
                  const format::FixedArrayHeader& header, std::uint64_t header_address)
      : ArrayIndex(std::move(file), geometry, std::move(order), header.format),
        header_(header),
        header_address_(header_address) {}

 private:
  Result<ElementRun> load_run(std::uint64_t number, ElementRun& span, Asking* asking) const override {
    span = {.first = 0, .count = header_.entry_count, .block = nullptr, .elements_at = 0};
    if (header_.data_block_address == format::kUndefinedAddress) return span;
    if (header_.bitmap_in_parts()) return load_by_part(number, span, asking);
    const auto check = [&](format::Cursor& cursor) {
      return format::decode_fixed_array_data_block(cursor, header_, header_address_);
    };
    H5_ASSIGN(auto block,
              load_block(header_.data_block_address, header_.data_block_bytes, kFixedDataBlock, asking,
                         header_.paged ? Asking::Names::Others : Asking::Names::Nothing, check));
    const Bitmap whole{block->bytes().data() + header_.body_at, 0, header_.page_count};
    if (header_.paged) return load_paged_run(number, whole, span, asking);
    ElementRun run = span;
    run.elements_at = header_.body_at;
    run.block = std::move(block);
    return run;
  }

  // The bits of the pages [first, end).
  struct Bitmap {
    const std::byte* bits;
    std::uint64_t first, end;

    bool set(std::uint64_t page) const { return format::page_bit(bits, page - first); }
    // The first page from `page` on that is set, or `end`. Skips whole bytes of clear bits.
    std::uint64_t next_set(std::uint64_t page) const {
      while (page < end && !set(page))
        page += (page - first) % 8 == 0 && bits[(page - first) / 8] == std::byte{0} ? 8 : 1;
      return std::min(page, end);
    }
  };

  Result<ElementRun> load_by_part(std::uint64_t number, ElementRun& span, Asking* asking) const {
    constexpr std::uint64_t kPart = format::FixedArrayHeader::kBitmapPartBytes;
    const std::uint64_t page = number / header_.page_entries, part = page / (8 * kPart);
    const std::uint64_t bytes = std::min(kPart, header_.page_bitmap_bytes - part * kPart);
    const std::uint64_t address = header_.data_block_address;
    const auto check = [&](format::Cursor& cursor) {
      return format::decode_fixed_array_prefix(cursor, header_, header_address_);
    };
    H5_TRY(load_block(address, header_.body_at, kFixedDataBlock, asking, Asking::Names::Others, check));
    const auto bits_at = checked_add(address, header_.body_at + part * kPart);
    if (!bits_at) return fail(out_of_range(page));
    H5_ASSIGN(const auto block, load_block(*bits_at, bytes, kFixedDataBlock, asking, Asking::Names::Others,
                                           [](format::Cursor&) { return Status(); }));
    const std::uint64_t first = part * 8 * kPart;
    return load_paged_run(number,
                          {block->bytes().data(), first, std::min(first + 8 * bytes, header_.page_count)},
                          span, asking);
  }

  static Error out_of_range(std::uint64_t page) {
    return Error(ErrorCode::OutOfRange, kFixedPage, "address", format::kUndefinedAddress).with_found(page);
  }

  Result<ElementRun> load_paged_run(std::uint64_t number, const Bitmap& bitmap, ElementRun& span,
                                    Asking* asking) const {
    const std::uint64_t page = number / header_.page_entries;
    const std::uint64_t end = bitmap.set(page) ? page + 1 : bitmap.next_set(page);
    span.first = page * header_.page_entries;
    // The last page may be short, so the end is counted in elements.
    span.count = (end >= header_.page_count ? header_.entry_count : end * header_.page_entries) - span.first;
    if (!bitmap.set(page)) return span;
    const auto address =
        checked_add(header_.data_block_address,
                    header_.data_block_bytes + page * header_.page_bytes(header_.page_entries));
    if (!address) return fail(out_of_range(page));
    ElementRun run = span;
    H5_ASSIGN(run.block, load_page(*address, run.count, kFixedPage, asking));
    return run;
  }

  format::FixedArrayHeader header_;
  std::uint64_t header_address_;
};

}  // namespace

Result<IndexPtr> open_fixed_array_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                        const ChunkGeometry& geometry) {
  constexpr std::string_view kHeader = structures::kFixedArrayHeader;
  H5_ASSIGN(GridOrder order, GridOrder::make(geometry, false));
  H5_ASSIGN(const metadata::MetadataBlock block,
            file->read(layout.address, format::fixed_array_header_bytes(file->sizes()), kHeader));
  format::Cursor cursor = block.cursor(kHeader);
  H5_ASSIGN(const format::FixedArrayHeader header,
            format::decode_fixed_array_header(cursor, array_of_chunks(*file, layout, geometry, order)));
  file->covers(header.data_block_address, header.data_block_space());
  return std::make_unique<FixedArrayIndex>(std::move(file), geometry, std::move(order), header,
                                           layout.address);
}

}  // namespace h5mount::chunk
