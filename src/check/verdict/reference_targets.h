// ReferenceTargets: the objects that elements refer to, also those that no link leads to, and the other files
// that they name. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "h5mount/base/request_budget.h"
#include "h5mount/format/datatype.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::check {

class ReferenceTargets {
 public:
  // `other_file`: called with the name of each other file that an element refers to.
  using OtherFile = std::function<void(const std::string& name)>;
  // Whole elements of `type`, of a file; what cannot be decoded is left out. `go_on` is asked for each,
  // and for each item of lists.
  void add(const format::Datatype& type, ByteSpan elements, const metadata::FileMetadataPtr& file,
           const std::function<bool()>& go_on, const OtherFile& other_file);

  // The addresses that were not taken before.
  std::unordered_set<std::uint64_t> take() { return std::exchange(addresses_, {}); }

 private:
  struct Work {
    const metadata::FileMetadataPtr& file;
    RequestBudget& budget;
    const std::function<bool()>& go_on;
    const OtherFile& other_file;
  };
  void scan(const format::Datatype& type, ByteSpan element, const Work& work);
  void scan_list(const format::Datatype& type, ByteSpan element, const Work& work);

  std::unordered_set<std::uint64_t> addresses_;
  // Lists of the elements added last: by their types, and where they are in the heap.
  std::set<std::tuple<const format::Datatype*, std::uint64_t, std::uint32_t>> followed_;
};

}  // namespace h5mount::check
