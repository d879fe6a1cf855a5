#include "h5mount/dataset/placement.h"

#include "h5mount/dataset/readers_over.h"

namespace h5mount::dataset {

namespace {

class PlacedDerivation final : public Derivation {
 public:
  explicit PlacedDerivation(std::shared_ptr<const Placement> placement) : placement_(std::move(placement)) {}

  Result<object::DatasetDescription> describe(const object::DatasetDescription& dataset) const override {
    object::DatasetDescription out = dataset;
    const auto& dims = dataset.space.dims;
    const bool fits =
        dims.size() >= 2 && dims[dims.size() - 2] == placement_->rows && dims.back() == placement_->columns;
    if (fits) out.placement = placement_;
    return out;
  }
  Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const override {
    H5_ASSIGN(object::DatasetDescription shown, describe(dataset->description()));
    return std::make_shared<const SameImageReader>(std::move(shown), std::move(dataset));
  }
  std::vector<ByteRange> stale_since(const DatasetReader&, const DatasetReader&,
                                     std::span<const ByteRange> stale) const override {
    return {stale.begin(), stale.end()};
  }

 private:
  const std::shared_ptr<const Placement> placement_;
};

}  // namespace

DerivationPtr derive_placed(std::shared_ptr<const Placement> placement) {
  return std::make_shared<const PlacedDerivation>(std::move(placement));
}

}  // namespace h5mount::dataset
