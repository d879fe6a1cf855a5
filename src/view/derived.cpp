#include "h5mount/view/derived.h"

#include <algorithm>
#include <functional>

#include "h5mount/dataset/dataset_part.h"
#include "selection_text.h"

namespace h5mount::view {

namespace {

class PartDerivation final : public Derivation {
 public:
  // The part of a dataset in its present state.
  using PartOf = std::function<Result<dataset::DatasetPart>(const object::DatasetDescription& dataset)>;
  explicit PartDerivation(PartOf part_of) : part_of_(std::move(part_of)) {}

  Result<object::DatasetDescription> describe(const object::DatasetDescription& dataset) const override {
    H5_ASSIGN(const dataset::DatasetPart part, part_of_(dataset));
    return dataset::describe_part(dataset, part);
  }
  Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const override {
    H5_ASSIGN(dataset::DatasetPart part, part_of_(dataset->description()));
    return dataset::open_part(std::move(dataset), std::move(part));
  }
  std::vector<dataset::ByteRange> stale_since(const dataset::DatasetReader& part,
                                              const dataset::DatasetReader& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    return dataset::stale_in_part(part, before, stale);
  }

 private:
  const PartOf part_of_;
};

}  // namespace

DerivationPtr derive_selection(std::string text) {
  return std::make_shared<PartDerivation>(
      [text = std::move(text)](const object::DatasetDescription& dataset) {
        return parse_selection(text, dataset);
      });
}

DerivationPtr derive_member(std::vector<std::string> path) {
  return std::make_shared<PartDerivation>(
      [path = std::move(path)](const object::DatasetDescription& dataset) -> Result<dataset::DatasetPart> {
        dataset::DatasetPart part = dataset::whole_dataset(dataset);
        for (const std::string& name : path) {
          const auto member = std::ranges::find(part.type->members, name, &format::CompoundMember::name);
          if (member == part.type->members.end()) return fail({ErrorCode::NotFound, "no such member"});
          part.element_offset += member->offset;
          part.type = member->type;
        }
        return part;
      });
}

}  // namespace h5mount::view
