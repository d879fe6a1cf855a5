// What a plan does to the elements of a file, as a reader over the dataset's. Immutable; threads: any.
#pragma once

#include "h5mount/dataset/derivation.h"
#include "h5mount/join/plan.h"

namespace h5mount::join {

// The dataset's elements after the treatment, before they are converted to the type `joined`. `dataset`
// itself if nothing is done. Fails with UnsupportedFeature if its type is none that the treatment is for.
Result<dataset::DatasetReaderPtr> treated(dataset::DatasetReaderPtr dataset, const Treatment& treatment,
                                          const format::DatatypePtr& joined);

}  // namespace h5mount::join
