#include "tiff.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/dataset/open_dataset.h"
#include "object_attributes.h"
#include "tiff_layout.h"

namespace h5mount::view {

namespace {

class TiffFile final : public ComputedFile {
 public:
  // `damage`: why it has no palette; nullopt if its dataset has none.
  TiffFile(TiffLayout layout, ByteSpan palette, std::optional<Error> damage, DatasetReaderPtr reader)
      : layout_(layout),
        head_(std::make_shared<const std::string>(tiff_head(layout, palette))),
        indexed_(!palette.empty()),
        damage_(std::move(damage)),
        reader_(std::move(reader)) {}

  std::uint64_t size() const override { return layout_.size; }
  const Error* damage() const override { return damage_ ? &*damage_ : nullptr; }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
              dataset::Pieces& out) const override {
    if (offset >= size()) return {};
    const std::uint64_t end = offset + std::min(length, size() - offset);
    if (offset < kImage) {
      const std::uint64_t part = std::min(end, kImage) - offset;
      add_text(head_, offset, part, out);
      offset += part;
    }
    if (offset < std::min(end, image_end())) {
      const std::uint64_t part = std::min(end, image_end()) - offset;
      H5_TRY(reader_->read(offset - kImage, part, access, out));
      offset += part;
    }
    if (offset < end) add_directories(offset, end - offset, out);
    return {};
  }

  // The image does not move; the directories lie after it.
  std::vector<dataset::ByteRange> stale_since(const ComputedFile& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    const auto* other = dynamic_cast<const TiffFile*>(&before);
    if (other == nullptr) return {{0, format::kUnlimited}};
    std::vector<dataset::ByteRange> out;
    if (*other->head_ != *head_) out.push_back({0, kImage});
    for (const dataset::ByteRange& range : stale)
      out.push_back({range.begin + kImage, checked_add(range.end, kImage).value_or(format::kUnlimited)});
    if (other->layout_ != layout_ || other->indexed_ != indexed_)
      out.push_back({std::min(other->image_end(), image_end()), format::kUnlimited});
    return out;
  }

  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const override {
    if (offset < kImage || offset >= image_end()) return offset;
    const auto found = reader_->find_data(offset - kImage, budget);
    if (!found && found.error().code() == ErrorCode::NotFound) return image_end();
    H5_TRY(found);
    return *found + kImage;
  }
  Result<std::uint64_t> find_hole(std::uint64_t offset, RequestBudget& budget) const override {
    if (offset >= image_end()) return size();
    H5_ASSIGN(const std::uint64_t found, reader_->find_hole(offset - std::min(offset, kImage), budget));
    return found == reader_->size() ? size() : found + kImage;
  }

 private:
  static constexpr std::uint64_t kImage = TiffLayout::kImage;
  std::uint64_t image_end() const { return kImage + reader_->size(); }

  // Everything after the image: a gap of some bytes, then the directories.
  void add_directories(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out) const {
    const auto text = std::make_shared<std::string>();
    const std::uint64_t end = offset + length;
    std::uint64_t begin = offset;  // of the text
    if (offset < layout_.directories) {
      text->resize(static_cast<std::size_t>(layout_.directories - offset), '\0');
    } else {
      begin = layout_.directories +
              (offset - layout_.directories) / layout_.directory_bytes * layout_.directory_bytes;
    }
    while (begin + text->size() < end)
      append_tiff_directory(layout_, indexed_,
                            (begin + text->size() - layout_.directories) / layout_.directory_bytes, *text);
    add_text(text, offset - begin, length, out);
  }

  TiffLayout layout_;
  std::shared_ptr<const std::string> head_;
  bool indexed_;
  std::optional<Error> damage_;
  DatasetReaderPtr reader_;
};

// nullopt if the object has no such attribute.
Result<std::optional<object::Attribute>> attribute_if_any(const metadata::FileMetadata& file,
                                                          const object::Object& object,
                                                          std::string_view name) {
  auto found = object::find_attribute(file, object, name);
  if (!found && found.error().code() == ErrorCode::NotFound) return std::nullopt;
  if (!found) return fail(found.error());
  if (found->damage) return fail(*found->damage);
  return *std::move(found);
}

Result<bool> is_image(const text::ValueContext& values, const object::Object& object) {
  H5_ASSIGN(const auto attribute, attribute_if_any(*values.file, object, "CLASS"));
  if (!attribute || !text::is_string(*attribute->type) || attribute->data.size() != attribute->type->size)
    return false;
  std::string text;
  H5_TRY(text::append_string(*attribute->type, attribute->data, values, text));
  return text == "IMAGE";
}

// The palette of an HDF5 image (HDF5 Image and Palette Specification): the first one that its attribute
// PALETTE refers to, if it has bytes of red, green and blue. Empty if there is none.
Result<std::vector<std::byte>> palette_of(const Source& source, RequestBudget& budget) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{3} * 256;
  const metadata::FileMetadata& file = *source.values.file;
  const text::ValueContext values{source.values, budget};
  std::vector<std::byte> out;
  const std::uint64_t own_address = source.reader->description().address;
  if (own_address == 0) return out;  // the samples are no object of the file
  H5_ASSIGN(const object::Object image, object::open_object(file, own_address));
  H5_ASSIGN(const auto reference, attribute_if_any(file, image, "PALETTE"));
  if (!reference || !reference->type->has_reference || reference->data.size() < reference->type->size)
    return out;
  H5_ASSIGN(const bool indexed, is_image(values, image));
  if (!indexed) return out;
  H5_ASSIGN(const std::uint64_t address,
            first_reference(values, *reference->type, reference->data.first(reference->type->size)));
  if (address == 0) return out;
  H5_ASSIGN(const object::Object palette, object::open_object(file, address));
  if (palette.kind != object::ObjectKind::Dataset) return out;
  H5_ASSIGN(object::DatasetDescription description, object::describe_dataset(file, palette));
  const std::vector<std::uint64_t>& dims = description.space.dims;
  if (dims.size() != 2 || dims[1] != 3 || description.element_size != 1 ||
      description.image_bytes > kMaxBytes)
    return out;
  H5_ASSIGN(const DatasetReaderPtr reader,
            dataset::open_dataset(source.environment, source.file, std::move(description)));
  out.resize(static_cast<std::size_t>(reader->size()));
  H5_TRY(reader->read_into(0, out, budget));
  return out;
}

}  // namespace

Result<std::optional<std::string>> tiff_unfit(const object::DatasetDescription& dataset, RequestBudget&) {
  const auto layout = tiff_layout(dataset);
  if (layout || layout.error().code() == ErrorCode::TooLarge) return std::nullopt;
  return layout.error().text();
}

Result<std::optional<std::uint64_t>> tiff_size(const object::DatasetDescription& dataset, RequestBudget&) {
  const auto layout = tiff_layout(dataset);
  if (!layout) return std::nullopt;
  return layout->size;
}

Result<ComputedFilePtr> make_tiff(Source source, const ComputedFile*, std::span<const dataset::ByteRange>,
                                  RequestBudget& budget) {
  H5_ASSIGN(const TiffLayout layout, tiff_layout(source.reader->description()));
  std::vector<std::byte> palette;
  std::optional<Error> damage;
  if (layout.may_be_indexed()) {
    auto found = palette_of(source, budget);
    // If no request can read the colours, the samples are shown without them.
    if (found)
      palette = *std::move(found);
    else if (meets_all_requests(found.error()) && !concerns_one_request(found.error()))
      damage = found.error().within("the image's palette, without which its TIFF is grey");
    else
      return fail(found.error());
  }
  return std::make_shared<const TiffFile>(layout, palette, std::move(damage), std::move(source.reader));
}

}  // namespace h5mount::view
