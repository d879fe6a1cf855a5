#include "group_kinds.h"

namespace h5mount {

namespace {

Result<std::unique_ptr<Group>> open_symbol_table(FileMetadataPtr file, const HeaderMessage& message) {
  H5_ASSIGN(const HeaderMessage found, resolve_message(*file, message));
  Cursor cursor = found.cursor("SymbolTableMessage");
  H5_ASSIGN(const SymbolTableMessage table, decode_symbol_table_message(cursor));
  return open_old_group(std::move(file), table);
}

Result<LinkInfo> load_link_info(const FileMetadata& file, const HeaderMessage& message) {
  H5_ASSIGN(const HeaderMessage found, resolve_message(file, message));
  Cursor cursor = found.cursor("LinkInfoMessage");
  return decode_link_info(cursor);
}

}  // namespace

// Link messages are looked for first: where a group of an old file got a link that a symbol table cannot hold, the
// writer turned it into them.
Result<std::unique_ptr<Group>> Group::open(FileMetadataPtr file, const Object& object) {
  if (const HeaderMessage* message = object.header->find(MessageType::LinkInfo)) {
    H5_ASSIGN(const LinkInfo info, load_link_info(*file, *message));
    if (info.fractal_heap_address != kUndefinedAddress) return open_dense_group(std::move(file), info);
    return make_compact_group(std::move(file), object.header, info.creation_order_indexed);
  }
  if (const HeaderMessage* message = object.header->find(MessageType::SymbolTable))
    return open_symbol_table(std::move(file), *message);
  if (object.header->find(MessageType::Link)) return make_compact_group(std::move(file), object.header, false);
  // A part of the header that is lost may be where the links are.
  if (object.header->damage) return fail(*object.header->damage);
  return fail(Error(ErrorCode::InvalidValue, "ObjectHeader", "messages", file->base_address() + object.address)
                  .with_detail("not a group"));
}

Error no_such_link(std::string_view name) {
  return Error(ErrorCode::NotFound, "no link '" + std::string(name) + "'");
}

Result<Link> find_by_scan(const Group& group, std::string_view name, std::optional<Error> met) {
  std::optional<Link> found;
  const auto damaged = [&](const Error& error) {
    if (!met) met = error;
  };
  const Status walked = group.for_each(
      [&](const Link& link) {
        if (link.name == name) found = link;
        return !found;
      },
      damaged);
  if (found) return *std::move(found);
  if (!walked) damaged(walked.error());
  return fail(met ? *std::move(met) : no_such_link(name));
}

}  // namespace h5mount
