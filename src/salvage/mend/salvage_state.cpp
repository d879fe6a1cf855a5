#include "salvage_state.h"

#include <algorithm>

#include "h5mount/base/structures.h"
#include "h5mount/format/object_header_format.h"

namespace h5mount::salvage {

namespace {

// The messages of a header, without those whose types are in `without`.
std::vector<format::NewMessage> messages_of(const metadata::ObjectHeader& header,
                                            std::span<const format::MessageType> without) {
  std::vector<format::NewMessage> out;
  for (const metadata::HeaderMessage& old : header.messages) {
    if (std::ranges::find(without, old.type) != without.end() || old.body.size() > format::kMostMessageBytes)
      continue;
    out.push_back({static_cast<std::uint8_t>(old.type),
                   old.flags,
                   old.creation_order.value_or(0),
                   {old.body.begin(), old.body.end()}});
  }
  return out;
}

}  // namespace

void SalvageState::take_found(std::vector<Found> more) {
  found = std::move(more);
  by_kind = {};
  for (std::uint32_t i = 0; i < found.size(); ++i)
    if (!is_header(found[i])) by_kind.at(static_cast<std::size_t>(found[i].kind)).push_back(i);
}

std::vector<Found> SalvageState::of_kind(Kind kind) {
  const auto& places = by_kind.at(static_cast<std::size_t>(kind));
  std::vector<Found> out;
  if (!spend(places.size())) return out;
  out.reserve(places.size());
  for (const std::uint32_t i : places) out.push_back(found[i]);
  return out;
}

std::vector<Found> SalvageState::unclaimed(Kind kind) {
  std::vector<Found> out = of_kind(kind);
  std::erase_if(out, [&](const Found& one) {
    return used.contains(one.offset) || used_by_unlinked.contains(one.offset);
  });
  return out;
}

std::vector<Found> SalvageState::owned(Kind kind, std::uint64_t owner) {
  auto& index = by_owner.at(static_cast<std::size_t>(kind));
  if (!index) {
    index.emplace();
    const std::size_t at = owner_at(kind);
    for (const Found& one : of_kind(kind)) {
      const auto block = file->read(one.offset, at + sizes().offsets, "owner");
      if (block) index->emplace_back(load_le_width(block->bytes().data() + at, sizes().offsets), one);
    }
    std::ranges::stable_sort(*index, {}, [](const auto& entry) { return entry.first; });
  }
  const auto entries =
      std::ranges::equal_range(*index, owner, {}, [](const auto& entry) { return entry.first; });
  std::vector<Found> out;
  if (!spend(entries.size())) return out;
  for (const auto& entry : entries) out.push_back(entry.second);
  return out;
}

Status SalvageState::reopen() {
  H5_ASSIGN(file, metadata::FileMetadata::open(made, {.force = true}));
  return {};
}

bool SalvageState::replace_messages(const metadata::ObjectHeader& header,
                                    std::span<const format::MessageType> without,
                                    std::span<const format::NewMessage> add) {
  std::vector<format::NewMessage> messages = messages_of(header, without);
  messages.insert(messages.end(), add.begin(), add.end());
  std::vector<std::byte> block = format::encode_continuation(header.version, header.flags, messages);
  const std::uint64_t bytes = block.size();
  const auto prefix_block = file->read_up_to(header.address, 64, structures::kObjectHeader);
  if (!prefix_block) return false;
  format::Cursor cursor = prefix_block->cursor(structures::kObjectHeader);
  const auto prefix = format::decode_object_header_prefix(cursor);
  if (!prefix) return false;
  // The nodes of the tables of what is made and laid over, beside the bytes themselves.
  constexpr std::uint64_t kTables = 384;
  if (!findings.charge(kTables + block.size() + prefix->prefix_bytes + prefix->chunk0_bytes)) return false;
  const auto old =
      file->read(header.address, prefix->prefix_bytes + prefix->chunk0_bytes, structures::kObjectHeader);
  if (!old) return false;
  const auto place = made->add(std::move(block));
  if (!place) return false;
  auto chunk0 = format::encode_chunk0(old->bytes(), sizes(), *place, bytes, messages.size());
  if (!chunk0) return false;
  made->lay_over(header.address, *std::move(chunk0));
  findings.report.changed = true;
  return true;
}

bool SalvageState::make_header_at(std::uint64_t address, std::span<const format::NewMessage> messages) {
  std::vector<std::byte> block = format::encode_continuation(2, 0, messages);
  const std::uint64_t bytes = block.size();
  const auto place = made->add(std::move(block));
  if (!place) return false;
  const format::NewMessage lead = format::encode_continuation_message(*place, bytes, sizes());
  made->lay_over(address, format::encode_header({&lead, 1}));
  findings.report.changed = true;
  return true;
}

bool Findings::charge(std::uint64_t bytes) {
  incomplete = incomplete || bytes > bytes_left;
  if (incomplete) return false;
  bytes_left -= bytes;
  return true;
}

std::optional<OpenedDataset> SalvageState::describe(std::uint64_t address) const {
  auto object = object::open_object(*file, address);
  if (!object || object->kind != object::ObjectKind::Dataset) return std::nullopt;
  auto description = object::describe_dataset(*file, *object);
  if (!description) return std::nullopt;
  chunk::ChunkGeometry geometry;
  if (description->layout.cls == format::LayoutClass::Chunked)
    geometry = geometry_of(*description).value_or(chunk::ChunkGeometry());
  return OpenedDataset{*std::move(object), *std::move(description), std::move(geometry)};
}

void Findings::note(std::uint64_t address, Certainty certainty, std::string found_by) {
  Finding finding;
  finding.address = address;
  finding.certainty = certainty;
  finding.found_by = std::move(found_by);
  note(std::move(finding));
}

void Findings::note(Finding finding, bool damage) {
  // The finding, its places in the tables of findings and remarks, and its text there.
  constexpr std::uint64_t kTables = 160, kTextOfRange = 48;
  const std::uint64_t ranges = finding.missing.size() + finding.guessed.size();
  report.changed = report.changed || damage;
  if (!charge(sizeof finding + kTables + finding.name.size() + 2 * finding.found_by.size() +
              ranges * kTextOfRange))
    return;
  const auto [place, added] = at.try_emplace(finding.address, report.findings.size());
  if (!added) {
    Finding& known = report.findings[place->second];
    known.certainty = std::max(known.certainty, finding.certainty);
    known.add_reason(finding.found_by);
    if (!finding.name.empty()) known.name = finding.name;
    known.missing.insert(known.missing.end(), finding.missing.begin(), finding.missing.end());
    known.guessed.insert(known.guessed.end(), finding.guessed.begin(), finding.guessed.end());
    known.filled += finding.filled;
    return;
  }
  report.findings.push_back(std::move(finding));
}

}  // namespace h5mount::salvage
