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
  if (object.object.kind == object::ObjectKind::Group) {
    H5_ASSIGN(const std::string cls, meaning::matlab_class(*object.snapshot, object.object));
    return cls.empty() ? std::nullopt : std::optional(meaning::matlab_named(cls));
  }
  if (object.object.kind != object::ObjectKind::Dataset) return std::nullopt;
  H5_ASSIGN(const DatasetDescriptionPtr dataset, viewed_description_of(file, object));
  if (!dataset) return std::nullopt;
  return meaning::decoding_of({object.object, *dataset, file.value_context(object.snapshot, budget),
                               &file.context().environment, file.file()});
}

Result<std::optional<meaning::Map>> map_of_object(ServedFile& file, const OpenedObject& object,
                                                  const meaning::Decoding* decoding, std::string_view path,
                                                  RequestBudget& budget) {
  if (object.object.kind != object::ObjectKind::Dataset) return std::nullopt;
  H5_ASSIGN(const DatasetDescriptionPtr dataset, viewed_description_of(file, object));
  if (!dataset) return std::nullopt;
  const text::ValueContext values = file.value_context(object.snapshot, budget);
  return meaning::map_of({object.object, *dataset, values, &file.context().environment, file.file()},
                         decoding, path, file.kept<meaning::MapMemory>());
}

Result<std::optional<meaning::TableDecoding>> table_of_object(ServedFile& file, const OpenedObject& object,
                                                              dataset::ShownAs form, RequestBudget& budget) {
  if (object.object.kind != object::ObjectKind::Group) return std::nullopt;
  const auto reader = [&](std::uint64_t address) -> Result<dataset::DatasetReaderPtr> {
    H5_ASSIGN(const OpenedObjectPtr names, file.object(address, budget));
    H5_ASSIGN(const DatasetDescriptionPtr described, known_description_of(file, *names));
    return open_reader(file, *described, budget);
  };
  return meaning::table_of_group({object.object, file.value_context(object.snapshot, budget), form, reader});
}

Result<std::string> decoded_text_of(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  H5_ASSIGN(auto table, table_of_object(file, object, dataset::ShownAs::TextTable, budget));
  if (table) return std::move(table->text);
  H5_ASSIGN(auto matrix, matrix_of_object(file, object, budget));
  if (matrix) return std::move(matrix->text);
  H5_ASSIGN(auto decoding, decoding_of_object(file, object, budget));
  H5_ASSIGN(auto map, map_of_object(file, object, decoding ? &*decoding : nullptr, {}, budget));
  if (map) return std::move(map->text);
  return decoding ? std::move(decoding->text) : std::string();
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
