#include "decoded.h"

namespace h5mount::tree {

Result<std::optional<meaning::Decoding>> decoding_of_object(ServedFile& file, const OpenedObject& object,
                                                            RequestBudget& budget) {
  if (object.object.kind == object::ObjectKind::Group) {
    H5_ASSIGN(const std::string cls, meaning::matlab_class(*object.snapshot, object.object));
    return cls.empty() ? std::nullopt : std::optional(meaning::Decoding{.text = meaning::matlab_text(cls)});
  }
  if (object.object.kind != object::ObjectKind::Dataset) return std::nullopt;
  H5_ASSIGN(const DatasetDescriptionPtr dataset, viewed_description_of(file, object));
  if (!dataset) return std::nullopt;
  return meaning::decoding_of({object.object, *dataset, file.value_context(object.snapshot, budget)});
}

}  // namespace h5mount::tree
