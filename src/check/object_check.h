// Checks of single objects: private to the module.
#pragma once

#include "context.h"

namespace h5mount::check {

// Checks header, attributes, and what belongs to the object's kind. The objects that the hard links of a
// group lead to are added to the places.
void check_object(const Context& context, PlaceId place);

// Checks the raw data of a dataset.
void check_data(const Context& context, PlaceId place, const object::DatasetDescription& description);

}  // namespace h5mount::check
