// The facts about an object that stat and user.hdf5.* show, gathered from its messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../core/node.h"
#include "../core/served_file.h"

namespace h5mount::tree {

// The description of a dataset. The extent of an unlimited virtual one is measured, by opening its sources.
Result<DatasetDescriptionPtr> description_of(ServedFile& file, const OpenedObject& object,
                                             RequestBudget& budget);
// The same without opening a source: the extent that was measured last, or that in the header.
Result<DatasetDescriptionPtr> known_description_of(ServedFile& file, const OpenedObject& object);

// The same for a view; null if the dataset has more bytes than a file can have, as no view shows it then.
Result<DatasetDescriptionPtr> viewed_description_of(ServedFile& file, const OpenedObject& object);

// The dataset at `address`, to which `place` leads, as the source of a node. Opens no sources of its own.
Result<NodeSource> dataset_source(ServedFile& file, std::uint64_t address, const LinkPlace& place,
                                  RequestBudget& budget);

// A stat with what all nodes of a file have in common: owner, mode and time, but no size. The first one is
// for nodes that belong to no particular file, and has the values of the mounted file.
NodeStat plain_stat(const MountContext& context, NodeType type, std::uint64_t ino);
NodeStat plain_stat(const ServedFile& file, NodeType type, std::uint64_t ino);

// The same with the object's own time and, except for groups, its link count.
NodeStat object_stat(const ServedFile& file, const object::Object& object, NodeType type);

// The extended attributes of an object: user.hdf5.* first, then its attributes, cut to Linux's limit.
// Attributes whose values exceed that limit are not listed but named in user.hdf5.large_attributes.
Result<std::vector<std::string>> list_object_xattrs(ServedFile& file, const OpenedObject& object,
                                                    RequestBudget& budget);
Result<std::string> get_object_xattr(ServedFile& file, const OpenedObject& object, std::string_view name,
                                     RequestBudget& budget);
// The error that user.hdf5.error shows; nullopt if there is none.
std::optional<Error> object_damage(ServedFile& file, const OpenedObject& object, RequestBudget& budget);

}  // namespace h5mount::tree
