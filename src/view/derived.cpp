#include "h5mount/view/derived.h"

#include <algorithm>

#include "h5mount/dataset/dataset_part.h"
#include "selection_text.h"

namespace h5mount::view {

namespace {

class PartDerivation : public Derivation {
 public:
  Result<object::DatasetDescription> describe(const object::DatasetDescription& dataset) const override {
    H5_ASSIGN(const dataset::DatasetPart part, part_of(dataset));
    return dataset::describe_part(dataset, part);
  }
  Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const override {
    H5_ASSIGN(dataset::DatasetPart part, part_of(dataset->description()));
    return dataset::open_part(std::move(dataset), std::move(part));
  }
  std::vector<dataset::ByteRange> stale_since(const dataset::DatasetReader& part,
                                              const dataset::DatasetReader& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    return dataset::stale_in_part(part, before, stale);
  }

 private:
  // The part of a dataset in its present state.
  virtual Result<dataset::DatasetPart> part_of(const object::DatasetDescription& dataset) const = 0;
};

class SelectionDerivation final : public PartDerivation {
 public:
  explicit SelectionDerivation(std::string text) : text_(std::move(text)) {}

 private:
  Result<dataset::DatasetPart> part_of(const object::DatasetDescription& dataset) const override {
    return parse_selection(text_, dataset);
  }

  std::string text_;
};

class MemberDerivation final : public PartDerivation {
 public:
  explicit MemberDerivation(std::vector<std::string> path) : path_(std::move(path)) {}

 private:
  Result<dataset::DatasetPart> part_of(const object::DatasetDescription& dataset) const override {
    dataset::DatasetPart part = dataset::whole_dataset(dataset);
    for (const std::string& name : path_) {
      const auto member = std::ranges::find(part.type->members, name, &format::CompoundMember::name);
      if (member == part.type->members.end()) return fail({ErrorCode::NotFound, "no such member"});
      part.element_offset += member->offset;
      part.type = member->type;
    }
    return part;
  }

  std::vector<std::string> path_;
};

}  // namespace

DerivationPtr derive_selection(std::string text) {
  return std::make_shared<SelectionDerivation>(std::move(text));
}

DerivationPtr derive_member(std::vector<std::string> path) {
  return std::make_shared<MemberDerivation>(std::move(path));
}

}  // namespace h5mount::view
