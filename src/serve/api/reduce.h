// The parameter `reduce` of `data`: as many numbers as a plot has pixels instead of all. `minmax`, with
// points=N, of a series: the least and the greatest number of each of N parts, N by 2, so that no peak is
// lost; `mean`, with points=N,M, of an image: N by M means. Threads: any.
#pragma once

#include "numbers.h"

namespace h5mount::serve {

// The reduced numbers as a dataset in memory; there are no more parts than the series or image has points.
Result<view::DatasetReaderPtr> reduced(const ApiRequest& request, const std::string& how,
                                       const view::ViewInput& source);

}  // namespace h5mount::serve
