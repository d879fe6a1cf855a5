#include "h5mount/dataset/converted_dataset.h"

#include "element_conversion.h"
#include "h5mount/dataset/dataset_part.h"
#include "h5mount/dataset/readers_over.h"

namespace h5mount::dataset {
namespace {

using ReaderPtr = std::shared_ptr<const DatasetReader>;

object::DatasetDescription describe_converted(const object::DatasetDescription& dataset,
                                              const format::DatatypePtr& element) {
  DatasetPart part = whole_dataset(dataset);
  part.type = element;
  return describe_part(dataset, part);
}

class ConvertedReader final : public UnitsReader {
 public:
  ConvertedReader(ReaderPtr base, ElementConversion conversion, const NumberConversion& types)
      : UnitsReader(describe_converted(base->description(), types.element), base,
                    base->description().element_size, types.element->size),
        conversion_(std::move(conversion)),
        number_bytes_(types.to->size) {}

 private:
  Status make(ByteSpan stored, MutableByteSpan shown) const override {
    conversion_.convert(shown.size() / number_bytes_, stored, shown);
    return {};
  }

  const ElementConversion conversion_;
  const std::size_t number_bytes_;  // converted
};

}  // namespace

format::DatatypePtr integer_type(std::uint32_t bytes, bool is_signed, format::ByteOrder order) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::Integer;
  out->size = bytes;
  out->order = order;
  out->bit_precision = static_cast<std::uint16_t>(8 * bytes);
  out->is_signed = is_signed;
  return out;
}

format::DatatypePtr float_type(std::uint32_t bytes, format::ByteOrder order) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::Float;
  out->size = bytes;
  out->order = order;
  out->bit_precision = static_cast<std::uint16_t>(8 * bytes);
  out->normalization = format::MantissaNormalization::Implied;
  out->exponent_size = bytes == 2 ? 5 : bytes == 4 ? 8 : 11;
  out->mantissa_size = static_cast<std::uint8_t>(8 * bytes - 1 - out->exponent_size);
  out->exponent_location = out->mantissa_size;
  out->sign_location = static_cast<std::uint8_t>(8 * bytes - 1);
  out->exponent_bias = (1U << (out->exponent_size - 1)) - 1;
  return out;
}

Result<ReaderPtr> open_converted(ReaderPtr dataset, const NumberConversion& types) {
  auto conversion = ElementConversion::make(types.from, types.to);
  if (!conversion) return fail({ErrorCode::UnsupportedFeature, "numbers of a format that is not converted"});
  if (conversion->identity()) return dataset;
  return std::make_shared<const ConvertedReader>(std::move(dataset), *std::move(conversion), types);
}

}  // namespace h5mount::dataset
