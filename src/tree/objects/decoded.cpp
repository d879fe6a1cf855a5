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
                         decoding, path, file.kept<meaning::MapMemory>());
}

}  // namespace h5mount::tree
