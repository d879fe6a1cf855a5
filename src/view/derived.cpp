#include "h5mount/view/derived.h"

#include <algorithm>
#include <functional>

#include "h5mount/dataset/dataset_part.h"
#include "h5mount/dataset/readers_over.h"
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

// Keeps what the first derivation made, which both are asked about.
class ReaderOfBoth final : public dataset::SameImageReader {
 public:
  ReaderOfBoth(DatasetReaderPtr first, const DatasetReaderPtr& then)
      : SameImageReader(then->description(), then), first_(std::move(first)) {}

  const DatasetReaderPtr& first() const { return first_; }
  const DatasetReaderPtr& then() const { return base(); }

 private:
  const DatasetReaderPtr first_;
};

class BothDerivations final : public Derivation {
 public:
  BothDerivations(DerivationPtr first, DerivationPtr then)
      : first_(std::move(first)), then_(std::move(then)) {}

  Result<object::DatasetDescription> describe(const object::DatasetDescription& dataset) const override {
    H5_ASSIGN(const object::DatasetDescription part, first_->describe(dataset));
    return then_->describe(part);
  }
  Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const override {
    H5_ASSIGN(DatasetReaderPtr first, first_->open(std::move(dataset)));
    H5_ASSIGN(const DatasetReaderPtr then, then_->open(first));
    return std::make_shared<const ReaderOfBoth>(std::move(first), then);
  }
  std::vector<dataset::ByteRange> stale_since(const dataset::DatasetReader& part,
                                              const dataset::DatasetReader& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    const auto* const now = dynamic_cast<const ReaderOfBoth*>(&part);
    const auto* const earlier = dynamic_cast<const ReaderOfBoth*>(&before);
    if (now == nullptr || earlier == nullptr) return {dataset::kWholeImage};
    const auto of_first = first_->stale_since(*now->first(), *earlier->first(), stale);
    return then_->stale_since(*now->then(), *earlier->then(), of_first);
  }

 private:
  const DerivationPtr first_, then_;
};

}  // namespace

DerivationPtr derive_both(DerivationPtr first, DerivationPtr then) {
  return std::make_shared<const BothDerivations>(std::move(first), std::move(then));
}

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
