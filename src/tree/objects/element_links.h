// Elements as links: what MATLAB's cells and arrays of structures hold are other objects, so that mirrors
// show them as directories. The names are MATLAB's indices, from 1 on and the row first (`2,3`), or those of
// fields. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "group_contents.h"

namespace h5mount::tree {

// What MATLAB's attributes say that an object consists of: a cell, an array of structures, or one of either
// without elements. Null: it is shown as itself.
Result<ElementLinksPtr> matlab_elements(ServedFile& file, const OpenedObject& object, RequestBudget& budget);

// Whether a link leads to what programs keep beside the objects that they store: MATLAB's `#refs#` and
// `#subsystem#`, and the indices of PyTables.
Result<bool> is_kept_beside(const GroupContents& group, const format::Link& link, RequestBudget& budget);

// The directories of elements, each at the first path that was looked up: references can lead anywhere, and
// several to one object.
class ElementPlaces {
 public:
  // The path where the object is a directory, if it is not this one. Fails if there are too many.
  Result<std::optional<std::string>> other_place(std::uint64_t address, const std::string& path);

 private:
  Mutex mutex_;
  std::unordered_map<std::uint64_t, std::string> paths_ H5_GUARDED_BY(mutex_);
  std::size_t bytes_ H5_GUARDED_BY(mutex_) = 0;
};

}  // namespace h5mount::tree
