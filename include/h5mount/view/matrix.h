// The files of a sparse matrix, as programs for single cells read them. These views are not in the table of
// views(): no directory of datasets shows them. Threads: any.
#pragma once

#include "h5mount/view/view.h"

namespace h5mount::view {

// Matrix Market's coordinate format, of the entries of a matrix (dataset/matrix_entries.h): lines of one
// length, with spaces at their ends. Values are integers and floats of the usual formats, booleans as 1 and
// 0, and complex numbers; others fail with UnsupportedFeature.
const View& matrix_market_view();

// Lines of words with tabs between them, of joined datasets (dataset/dataset_columns.h); characters that
// would break a line or a word are escaped. Features: all members and, if they are only two, `Gene
// Expression`. Genes: the first two.
const View& features_view();
const View& genes_view();

}  // namespace h5mount::view
