// The elements as stored, or as text if their type has no byte form (text_lines.h), for parts of datasets.
// The file's own tree shows whole datasets.
#include "h5mount/view/text_lines.h"
#include "views.h"

namespace h5mount::view {

namespace {

class RawFile final : public ComputedFile {
 public:
  explicit RawFile(DatasetReaderPtr reader) : reader_(std::move(reader)) {}

  std::uint64_t size() const override { return reader_->size(); }
  const dataset::DatasetReader* image() const override { return reader_.get(); }
  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
              dataset::Pieces& out) const override {
    return reader_->read(offset, length, access, out);
  }
  std::vector<dataset::ByteRange> stale_since(const ComputedFile&,
                                              std::span<const dataset::ByteRange> stale) const override {
    return {stale.begin(), stale.end()};
  }
  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const override {
    return reader_->find_data(offset, budget);
  }
  Result<std::uint64_t> find_hole(std::uint64_t offset, RequestBudget& budget) const override {
    return reader_->find_hole(offset, budget);
  }

 private:
  DatasetReaderPtr reader_;
};

Result<KnownSize> raw_size(const object::DatasetDescription& dataset, RequestBudget&) {
  if (dataset.image_bytes > 0 && is_shown_as_text(*dataset.type)) return std::nullopt;
  return dataset.image_bytes;
}

Result<ComputedFilePtr> make_raw(ViewInput source, const Earlier& before, RequestBudget& budget) {
  if (!is_shown_as_text(*source.reader->description().type))
    return std::make_shared<RawFile>(std::move(source.reader));
  return make_element_lines(std::move(source), before, budget);
}

}  // namespace

constinit const View kRawView{.size = raw_size, .make = make_raw};

ComputedFilePtr show_as_stored(DatasetReaderPtr reader) {
  return std::make_shared<RawFile>(std::move(reader));
}

}  // namespace h5mount::view
