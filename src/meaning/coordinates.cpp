#include "h5mount/meaning/coordinates.h"

#include "h5mount/dataset/open_dataset.h"
#include "h5mount/meaning/dimensions.h"
#include "h5mount/meaning/packing.h"
#include "members.h"

namespace h5mount::meaning {

namespace {

constexpr std::uint64_t kMostOfOne = 64;  // bytes of a coordinate

struct ShownCoordinate {
  format::DatatypePtr type;
  std::vector<std::byte> bytes;
};

Result<ShownCoordinate> read_shown(const Subject& subject, const Coordinate& of, dataset::ShownAs form) {
  constexpr std::uint64_t kStepsOfOne = 50;
  if (subject.environment == nullptr || of.dataset.space.dims[0] > kMostCoordinates)
    return fail({ErrorCode::LimitExceeded, "more coordinates than are read"});
  H5_ASSIGN(const auto decoding, decoding_of(subject_of(subject, of)));
  dataset::DerivationPtr derivation;
  if (decoding) derivation = decoding->derivations[static_cast<std::size_t>(form)];
  H5_ASSIGN(dataset::DatasetReaderPtr reader,
            dataset::open_dataset(*subject.environment, subject.file, of.dataset));
  if (derivation) {
    H5_ASSIGN(reader, derivation->open(std::move(reader)));
  }
  const object::DatasetDescription& shown = reader->description();
  if (shown.element_size > kMostOfOne) return fail({ErrorCode::LimitExceeded, "long coordinates"});
  H5_TRY(subject.values.budget.spend(of.dataset.space.dims[0] * kStepsOfOne));
  H5_ASSIGN(const auto charge, subject.environment->cache->charge(shown.image_bytes));
  ShownCoordinate out{shown.type, std::vector<std::byte>(static_cast<std::size_t>(shown.image_bytes))};
  H5_TRY(reader->read_into(0, out.bytes, subject.values.budget));
  return out;
}

Result<Coordinate> open_coordinate(const Subject& subject, std::uint64_t address, std::uint64_t length) {
  const metadata::FileMetadata& file = *subject.values.file;
  constexpr std::uint64_t kSteps = 20'000;
  const Error none{ErrorCode::NotFound, "no coordinate"};
  H5_TRY(subject.values.budget.spend(kSteps));
  H5_ASSIGN(object::Object object, object::open_object(file, address));
  if (object.kind != object::ObjectKind::Dataset || dimension_role(file, object).without_values)
    return fail(none);
  H5_ASSIGN(object::DatasetDescription dataset, object::describe_dataset(file, object));
  if (dataset.space.dims.size() != 1 || dataset.space.dims[0] != length || length == 0) return fail(none);
  return Coordinate{string_of(file, object, "NAME"), std::move(object), std::move(dataset)};
}

}  // namespace

Subject subject_of(const Subject& subject, const Coordinate& of) {
  return {of.object, of.dataset, subject.values, subject.environment, subject.file};
}

Result<std::optional<Coordinate>> coordinate_of(const Subject& subject, std::size_t axis) {
  const auto& dims = subject.dataset.space.dims;
  const DimensionRole role = dimension_role(*subject.values.file, subject.object);
  const auto scales = dimension_scales(subject.values, subject.object, dims.size(), role);
  H5_TRY(subject.values.budget.check());
  if (axis >= dims.size() || scales[axis] == 0) return std::nullopt;
  return if_readable(open_coordinate(subject, scales[axis], dims[axis]));
}

Result<std::optional<CoordinateNumbers>> coordinate_numbers(const Subject& subject, const Coordinate& of) {
  H5_ASSIGN(const auto shown, if_readable(read_shown(subject, of, dataset::ShownAs::Bytes)));
  const auto type = shown ? number_type(*shown->type) : std::nullopt;
  if (!type) return std::nullopt;
  Packing as_double;
  as_double.stored = *type, as_double.read_as = type->kind;
  as_double.scale = 1.0, as_double.shown = NumberKind::F64;
  CoordinateNumbers out{std::vector<double>(shown->bytes.size() / bytes_of(type->kind)),
                        type->kind == NumberKind::F32};
  elements_of(as_double)->decode(shown->bytes, std::as_writable_bytes(std::span(out.values)), nullptr);
  return std::optional(std::move(out));
}

Result<std::optional<CoordinateTexts>> coordinate_texts(const Subject& subject, const Coordinate& of) {
  H5_ASSIGN(const auto shown, if_readable(read_shown(subject, of, dataset::ShownAs::Text)));
  if (!shown || (!number_type(*shown->type) && shown->type->cls != format::DatatypeClass::String))
    return std::nullopt;
  const std::size_t bytes = shown->type->size, count = shown->bytes.size() / bytes;
  if (count != of.dataset.space.dims[0]) return std::nullopt;
  H5_ASSIGN(auto charge, subject.environment->cache->charge(count * (kMostOfOne + sizeof(std::uint32_t))));
  CoordinateTexts out{.numbers = !text::is_string(*shown->type)};
  out.ends.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const ByteSpan element = ByteSpan(shown->bytes).subspan(i * bytes, bytes);
    if (!out.numbers)
      out.text += text::fixed_string(*shown->type, element);
    else
      H5_TRY(text::append_json(*shown->type, element, subject.values, out.text));
    out.ends.push_back(static_cast<std::uint32_t>(out.text.size()));
  }
  out.text.shrink_to_fit();
  H5_TRY(charge.resize(out.text.capacity() + count * sizeof(std::uint32_t)));
  out.charge = std::make_shared<const cache::BlockCache::Charge>(std::move(charge));
  return std::optional(std::move(out));
}

}  // namespace h5mount::meaning
