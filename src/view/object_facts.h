// What stat and user.hdf5.* tell of an object, gathered from its messages.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file_view.h"

namespace h5mount {

using DatasetDescriptionPtr = std::shared_ptr<const DatasetDescription>;

Result<DatasetDescriptionPtr> description_of(FileView& file, const OpenedObject& object);

// A stat with what all nodes share: mode, owner's time, no size.
NodeStat plain_stat(const ViewContext& context, NodeType type, std::uint64_t ino);

// The same with the object's own time and, but for groups, its link count.
NodeStat object_stat(const FileView& file, const Object& object, NodeType type);

// xattrs of an object: user.hdf5.* first, then its attributes, cut at what Linux can carry.
Result<std::vector<std::string>> list_object_xattrs(FileView& file, const OpenedObject& object);
Result<std::string> get_object_xattr(FileView& file, const OpenedObject& object, std::string_view name);

inline constexpr std::size_t kMaxXattrBytes = 65'536;  // XATTR_SIZE_MAX and XATTR_LIST_MAX

// An attribute by its shown name (without `user.`). NotFound.
enum class AttributeNaming : std::uint8_t { Xattr, File };
Result<Attribute> find_shown_attribute(const FileView& file, const OpenedObject& object, std::string_view shown,
                                       AttributeNaming naming);
// The shown names of all attributes, in order.
Result<std::vector<std::string>> shown_attribute_names(const FileView& file, const OpenedObject& object,
                                                       AttributeNaming naming);
// The text of its value. `most_bytes`: a longer one is TooLarge, found out early where it can be.
Result<std::string> attribute_text(FileView& file, const Attribute& attribute, std::size_t most_bytes);

}  // namespace h5mount
