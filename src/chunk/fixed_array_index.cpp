// Fixed array: header -> data block -> (pages). See format/fixed_array.h.
#include "array_index.h"
#include "h5mount/base/checked.h"
#include "h5mount/format/fixed_array.h"
#include "index_kinds.h"

namespace h5mount::chunk {

namespace {

constexpr std::string_view kFixedDataBlock = "FixedArrayDataBlock";
constexpr std::string_view kFixedPage = "FixedArrayDataBlockPage";

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
    const auto check = [&](format::Cursor& cursor) {
      return format::decode_fixed_array_data_block(cursor, header_, header_address_);
    };
    H5_ASSIGN(auto block,
              load_block(header_.data_block_address, header_.data_block_bytes, kFixedDataBlock, asking,
                         header_.paged ? Asking::Names::Others : Asking::Names::Nothing, check));
    if (header_.paged) return load_paged_run(number, block->bytes().data() + header_.body_at, span, asking);
    ElementRun run = span;
    run.elements_at = header_.body_at;
    run.block = std::move(block);
    return run;
  }

  Result<ElementRun> load_paged_run(std::uint64_t number, const std::byte* bitmap, ElementRun& span,
                                    Asking* asking) const {
    const std::uint64_t page = number / header_.page_entries;
    const std::uint64_t end = format::page_bit(bitmap, page) ? page + 1 : next_set_page(bitmap, page);
    span.first = page * header_.page_entries;
    // The last page may be short, so the end is counted in elements.
    span.count = (end >= header_.page_count ? header_.entry_count : end * header_.page_entries) - span.first;
    if (!format::page_bit(bitmap, page)) return span;
    const auto address =
        checked_add(header_.data_block_address,
                    header_.data_block_bytes + page * header_.page_bytes(header_.page_entries));
    if (!address)
      return fail(
          Error(ErrorCode::OutOfRange, kFixedPage, "address", format::kUndefinedAddress).with_found(page));
    ElementRun run = span;
    H5_ASSIGN(run.block, load_page(*address, run.count, kFixedPage, asking));
    return run;
  }

  // The first initialised page from `page` on, or page_count. Skips whole bytes of clear bits.
  std::uint64_t next_set_page(const std::byte* bitmap, std::uint64_t page) const {
    while (page < header_.page_count && !format::page_bit(bitmap, page)) {
      if (page % 8 == 0 && bitmap[page / 8] == std::byte{0})
        page += 8;
      else
        ++page;
    }
    return page;
  }

  format::FixedArrayHeader header_;
  std::uint64_t header_address_;
};

}  // namespace

Result<IndexPtr> open_fixed_array_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                        const ChunkGeometry& geometry) {
  constexpr std::string_view kHeader = "FixedArrayHeader";
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
