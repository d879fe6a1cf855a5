// What stat and user.hdf5.* tell of an object, gathered from its messages.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "served_file.h"

namespace h5mount::tree {

using DatasetDescriptionPtr = std::shared_ptr<const object::DatasetDescription>;

Result<DatasetDescriptionPtr> description_of(ServedFile& file, const OpenedObject& object);

// A stat with what all nodes of a file share: owner, mode and time, no size. The first for nodes of no file's
// own, which show the mounted one's.
NodeStat plain_stat(const ViewContext& context, NodeType type, std::uint64_t ino);
NodeStat plain_stat(const ServedFile& file, NodeType type, std::uint64_t ino);

// The same with the object's own time and, but for groups, its link count.
NodeStat object_stat(const ServedFile& file, const object::Object& object, NodeType type);

// The size of a file that is made on demand, without holes. Its blocks are those of its bytes: SEEK_DATA
// finds them, and `tar --sparse` takes a file without blocks for one hole.
void set_size(NodeStat& stat, std::uint64_t bytes);

// xattrs of an object: user.hdf5.* first, then its attributes, cut at what Linux can carry. Those with values
// that it cannot carry are not listed but named in user.hdf5.large_attributes.
Result<std::vector<std::string>> list_object_xattrs(ServedFile& file, const OpenedObject& object);
Result<std::string> get_object_xattr(ServedFile& file, const OpenedObject& object, std::string_view name);

}  // namespace h5mount::tree
