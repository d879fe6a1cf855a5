#include "decoded.h"

#include "followed_dataset.h"

namespace h5mount::tree {

namespace {

// The two integers of a dataset, as 64 bits each.
Result<std::vector<std::uint64_t>> read_pair(ServedFile& file, std::uint64_t address, RequestBudget& budget) {
  std::vector<std::uint64_t> out;
  H5_ASSIGN(const OpenedObjectPtr object, file.object(address, budget));
  if (object->object.kind != object::ObjectKind::Dataset) return out;
  H5_ASSIGN(const DatasetDescriptionPtr pair, known_description_of(file, *object));
  const format::Datatype& type = *pair->type;
  if (type.cls != format::DatatypeClass::Integer || type.size > 8 || pair->image_bytes != 2 * type.size)
    return out;
  H5_ASSIGN(const DatasetReaderPtr reader, open_reader(file, *pair, budget));
  std::vector<std::byte> stored(static_cast<std::size_t>(pair->image_bytes));
  H5_TRY(reader->read_into(0, stored, budget));
  for (const std::size_t at : {std::size_t{0}, std::size_t{type.size}})
    out.push_back(text::stored_bits(type, stored.data() + at));
  return out;
}

}  // namespace

Result<std::optional<meaning::Decoding>> decoding_of_object(ServedFile& file, const OpenedObject& object,
                                                            RequestBudget& budget) {
  if (object.object.kind != object::ObjectKind::Dataset) return std::nullopt;
  H5_ASSIGN(const DatasetDescriptionPtr dataset, viewed_description_of(file, object));
  if (!dataset) return std::nullopt;
  return meaning::decoding_of({object.object, *dataset, file.value_context(object.snapshot, budget)});
}

Result<std::optional<meaning::MatrixDecoding>> matrix_of_object(ServedFile& file, const OpenedObject& object,
                                                                RequestBudget& budget) {
  if (object.object.kind != object::ObjectKind::Group) return std::nullopt;
  const text::ValueContext values = file.value_context(object.snapshot, budget);
  return meaning::matrix_of_group({object.object, values, [&file, &budget](std::uint64_t address) {
                                     return read_pair(file, address, budget);
                                   }});
}

}  // namespace h5mount::tree
