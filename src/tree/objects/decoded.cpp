#include "decoded.h"

namespace h5mount::tree {

Result<std::optional<meaning::Decoding>> decoding_of_object(ServedFile& file, const OpenedObject& object,
                                                            RequestBudget& budget) {
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
                         decoding, path);
}

Result<std::optional<meaning::TableDecoding>> table_of_object(ServedFile& file, const OpenedObject& object,
                                                              dataset::ShownAs form, RequestBudget& budget) {
  if (object.object.kind != object::ObjectKind::Group) return std::nullopt;
  return meaning::table_of_group({object.object, file.value_context(object.snapshot, budget), form});
}

Result<std::string> decoded_text_of(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  H5_ASSIGN(auto decoding, decoding_of_object(file, object, budget));
  H5_ASSIGN(auto map, map_of_object(file, object, decoding ? &*decoding : nullptr, {}, budget));
  if (map) return std::move(map->text);
  if (decoding) return std::move(decoding->text);
  H5_ASSIGN(auto table, table_of_object(file, object, dataset::ShownAs::TextTable, budget));
  return table ? std::move(table->text) : std::string();
}

}  // namespace h5mount::tree
