// Determines an object's kind by the types of its header's messages: a dataset has a layout or a dataspace, a
// group a symbol table, link info or link, a committed datatype only a datatype.
#pragma once

#include "h5mount/object/object.h"

namespace h5mount::object {

class KindDetector {
 public:
  void take(format::MessageType type) {
    switch (type) {
      case format::MessageType::Dataspace:
      case format::MessageType::DataLayout:
        dataset_ = true;
        break;
      case format::MessageType::SymbolTable:
      case format::MessageType::LinkInfo:
      case format::MessageType::Link:
        group_ = true;
        break;
      case format::MessageType::Datatype:
        datatype_ = true;
        break;
      default:
        break;
    }
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
