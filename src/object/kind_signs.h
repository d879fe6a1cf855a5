// What kind an object is, by the types of its header's messages: a dataset has a layout or a dataspace, a
// group a symbol table, link info or link, a committed datatype a datatype alone.
#pragma once

#include "h5mount/object/object.h"

namespace h5mount {

class KindSigns {
 public:
  void take(MessageType type) {
    switch (type) {
      case MessageType::Dataspace:
      case MessageType::DataLayout:
        dataset_ = true;
        break;
      case MessageType::SymbolTable:
      case MessageType::LinkInfo:
      case MessageType::Link:
        group_ = true;
        break;
      case MessageType::Datatype:
        datatype_ = true;
        break;
      default:
        break;
    }
  }

  // Nothing where no message says it.
  std::optional<ObjectKind> kind() const {
    if (dataset_) return ObjectKind::Dataset;
    if (group_) return ObjectKind::Group;
    return datatype_ ? std::optional(ObjectKind::Datatype) : std::nullopt;
  }

 private:
  bool dataset_ = false, group_ = false, datatype_ = false;
};

}  // namespace h5mount
