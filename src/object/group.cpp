#include "group_kinds.h"

#include "h5mount/base/structures.h"

namespace h5mount::object {

// Link info and link messages take precedence: a writer converts an old group to them when it gets a link
// that a symbol table cannot hold.
Result<std::unique_ptr<Group>> Group::open(metadata::FileMetadataPtr file, const Object& object) {
  if (const metadata::HeaderMessage* message = object.header->find(format::MessageType::LinkInfo)) {
    H5_ASSIGN(
        const format::LinkInfo info,
        metadata::decode_message(*file, *message, structures::kLinkInfoMessage, format::decode_link_info));
    if (info.fractal_heap_address != format::kUndefinedAddress)
      return open_dense_group(std::move(file), info);
    return make_compact_group(std::move(file), object.header, info.creation_order_indexed);
  }
  if (const metadata::HeaderMessage* message = object.header->find(format::MessageType::SymbolTable)) {
    H5_ASSIGN(const format::SymbolTableMessage table,
              metadata::decode_message(*file, *message, structures::kSymbolTableMessage,
                                       format::decode_symbol_table_message));
    return open_old_group(std::move(file), table);
  }
  if (object.header->find(format::MessageType::Link))
    return make_compact_group(std::move(file), object.header, false);
  // The links may be in a lost part of the header.
  if (object.header->damage) return fail(*object.header->damage);
  return fail(Error(ErrorCode::InvalidValue, structures::kObjectHeader, "messages",
                    file->base_address() + object.address)
                  .with_detail("not a group"));
}

Error no_such_link(std::string_view name) {
  return Error(ErrorCode::NotFound, "no link '" + std::string(name) + "'");
}

Result<format::Link> find_by_scan(const Group& group, std::string_view name, std::optional<Error> damage) {
  std::optional<format::Link> found;
  const auto damaged = [&](const Error& error) {
    if (!damage) damage = error;
  };
  const Status walked = group.for_each(
      [&](const format::Link& link) {
        if (link.name == name) found = link;
        return !found;
      },
      damaged);
  if (found) return *std::move(found);
  if (!walked) damaged(walked.error());
  return fail(damage ? *std::move(damage) : no_such_link(name));
}

}  // namespace h5mount::object
