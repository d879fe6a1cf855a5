// Determines an object's kind by the types of its header's messages: a dataset has a layout or a dataspace, a
// group a symbol table, link info or link, a committed datatype only a datatype.
#pragma once

#include "h5mount/object/object.h"

namespace h5mount::object {

class KindDetector {
 public:
  void note(format::MessageType type) {
    using enum format::MessageType;
    dataset_ = dataset_ || type == Dataspace || type == DataLayout;
    group_ = group_ || type == SymbolTable || type == LinkInfo || type == Link;
    datatype_ = datatype_ || type == Datatype;
  }

  // Returns nullopt if no message determines the kind.
  std::optional<ObjectKind> kind() const {
    if (dataset_) return ObjectKind::Dataset;
    if (group_) return ObjectKind::Group;
    return datatype_ ? std::optional(ObjectKind::Datatype) : std::nullopt;
  }

 private:
  bool dataset_ = false, group_ = false, datatype_ = false;
};

}  // namespace h5mount::object
