// Parts of a dataset that views show like datasets. Immutable; threads: any.
#pragma once

#include <string>
#include <vector>

#include "h5mount/dataset/derivation.h"
#include "h5mount/view/view.h"

namespace h5mount::view {

using dataset::Derivation;
using dataset::DerivationPtr;

// The elements that a text in NumPy's basic indexing selects, without brackets: `10:20,:,3`, `::100`, `-1`,
// `...,0`. An index drops its dimension; slices clip to the extent; steps are positive.
DerivationPtr derive_selection(std::string text);

// What `then` makes of what `first` makes.
DerivationPtr derive_both(DerivationPtr first, DerivationPtr then);

// A member of a compound type, named by the path to it through nested compounds; packed.
DerivationPtr derive_member(std::vector<std::string> path);

}  // namespace h5mount::view
