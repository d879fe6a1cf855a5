#include "icechunk_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "flex_buffer.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/row_major.h"
#include "h5mount/base/uri.h"
#include "h5mount/view/view.h"

namespace h5mount::tree {

namespace {

using view::append_le;

// The numbers of the fields are those of the schemas (icechunk-format/flatbuffers in the repository of
// Icechunk).
enum class FileType : std::uint8_t { Snapshot = 1, Manifest = 2, Transaction = 4, Repository = 6 };

void append_big_endian(std::uint64_t value, std::string& out) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

std::string node_id(std::uint64_t number) {
  std::string out;
  append_big_endian(number, out);
  return out;
}

// Of a manifest, or the snapshot's: in the order of the numbers.
constexpr std::uint32_t kSnapshotNumber = 0xFFFF'FFFF;
std::string object_id(const IcechunkPlan& plan, std::uint32_t number) {
  std::string out;
  append_big_endian(plan.digest, out);
  append_big_endian(std::uint64_t{number} << 32, out);
  return out.substr(0, 12);
}

// Crockford's base32, without padding.
std::string base32(std::string_view id) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string out;
  unsigned bits = 0, value = 0;
  for (const char c : id) {
    value = value << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 5; bits -= 5) out += kDigits[value >> (bits - 5) & 31];
  }
  if (bits > 0) out += kDigits[value << (5 - bits) & 31];
  return out;
}

Status append_head(FileType type, TreeText& out) {
  constexpr std::uint8_t kSpecification = 2, kZstandard = 1;
  return out.append(fmt::format(
      "ICE\xF0\x9F\xA7\x8A"
      "CHUNK{:<24}{}{}{}",
      "h5mount", static_cast<char>(kSpecification), static_cast<char>(type), static_cast<char>(kZstandard)));
}

constexpr FlatBuffer::Field number(std::uint16_t place, std::uint16_t bytes, std::uint64_t value) {
  return {place, bytes, value};
}

// The URL by which Icechunk knows a file.
std::string location(std::string_view url) {
  return url.contains("://") ? std::string(url) : "file://" + encode_path(url);
}

// Where readers may fetch chunks from, if they are allowed to. A reader compares the decoded URL with it.
std::optional<FlexValue> container(const std::string& prefix) {
  using Map = FlexValue::Map;
  const std::string_view scheme = std::string_view(prefix).substr(0, prefix.find("://"));
  FlexValue store;
  if (scheme == "file")
    store = {Map{{"local_file_system", {prefix.substr(7)}}}};
  else if (scheme == "s3")
    store = {
        Map{{"s3", {Map{{"allow_http", {true}}, {"anonymous", {false}}, {"force_path_style", {true}}}}}}};
  else if (scheme == "gs" || scheme == "gcs")
    store = {Map{{"gcs", {Map{}}}}};
  else if (scheme == "http")
    store = {Map{{"http", {Map{{"allow_http", {std::string("true")}}}}}}};
  else if (scheme == "https")
    store = {Map{{"http", {Map{}}}}};
  else
    return std::nullopt;
  return FlexValue{Map{{"store", std::move(store)}, {"url_prefix", {prefix}}}};
}

std::string configuration(const IcechunkPlan& plan) {
  std::set<std::string> prefixes;
  const auto add = [&](const std::string& url) {
    prefixes.insert(decode_percent(url.substr(0, url.rfind('/') + 1)));
  };
  for (const ReferencedFile& file : plan.references.summary.files) add(location(file.url));
  if (!plan.server.empty()) add(plan.server.ends_with('/') ? plan.server : plan.server + "/");
  FlexValue::Map containers;
  for (const std::string& prefix : prefixes)
    if (auto shown = container(prefix)) containers.push_back({prefix, *std::move(shown)});
  return flex_buffer({FlexValue::Map{{"virtual_chunk_containers", {std::move(containers)}}}});
}

std::uint64_t microseconds(const IcechunkPlan& plan) {
  std::int64_t newest = 0;
  for (const ReferencedFile& file : plan.references.summary.files) newest = std::max(newest, file.modified);
  return static_cast<std::uint64_t>(newest / 1000);
}

std::string message(const IcechunkPlan& plan) {
  return plan.references.summary.files_text();
}

// The nodes of a snapshot, in any order.
class SnapshotWriter final : public ReferenceSink {
 public:
  SnapshotWriter(const IcechunkPlan& plan, TreeText& out) : plan_(plan), buffer_(out) {
    const std::string id = object_id(plan, kSnapshotNumber);
    const auto top = buffer_.table(
        FlatBuffer::kRoot,
        {FlatBuffer::structure(0, id), FlatBuffer::offset(2), number(3, 8, microseconds(plan)),
         FlatBuffer::offset(4), FlatBuffer::offset(5), FlatBuffer::offset(6), FlatBuffer::offset(7)});
    buffer_.point(top[3]);
    buffer_.text(message(plan));
    for (const std::size_t empty : {4U, 5U}) {
      buffer_.point(top[empty]);
      buffer_.vector({}, 0);
    }
    buffer_.point(top[6]);
    write_manifests();
    buffer_.point(top[1]);
    nodes_ = buffer_.offsets(plan.nodes.size());
  }

  Status add_metadata(const std::string& key, std::string_view json) override {
    const std::string_view path =
        std::string_view(key).substr(0, key.rfind('/') == key.npos ? 0 : key.rfind('/'));
    const auto node = std::ranges::lower_bound(plan_.nodes, path, {}, &IcechunkPlan::Node::path);
    if (node == plan_.nodes.end() || node->path != path)
      return fail({ErrorCode::Internal, "a node that the plan does not have"});
    constexpr std::uint64_t kArray = 1, kGroup = 2;
    const std::string id = node_id(node->number);
    const auto slots = buffer_.table(
        nodes_ + FlatBuffer::kOffsetBytes * static_cast<std::uint64_t>(node - plan_.nodes.begin()),
        {FlatBuffer::structure(0, id), FlatBuffer::offset(1), FlatBuffer::offset(2), FlatBuffer::offset(4),
         number(3, 1, node->array ? kArray : kGroup)});
    buffer_.point(slots[1]);
    buffer_.text("/" + std::string(path));
    buffer_.point(slots[2]);
    buffer_.vector(json, json.size());
    if (node->array)
      write_array(plan_.arrays[*node->array], slots[3]);
    else
      buffer_.table(slots[3], {});
    ++written_;
    return buffer_.status();
  }

  Status finish() {
    if (written_ != plan_.nodes.size()) return fail({ErrorCode::Internal, "nodes without metadata"});
    return buffer_.finish();
  }

 private:
  void write_manifests() {
    FlatBuffer::Slot next = buffer_.offsets(plan_.manifests.size());
    for (std::uint32_t i = 0; i < plan_.manifests.size(); ++i, next += FlatBuffer::kOffsetBytes) {
      const std::string id = object_id(plan_, i);
      buffer_.table(next, {FlatBuffer::structure(0, id), number(1, 8, plan_.manifests[i].size),
                           number(2, 4, plan_.manifests[i].chunks)});
    }
  }

  void write_array(const IcechunkArray& array, FlatBuffer::Slot slot) {
    const auto slots =
        buffer_.table(slot, {FlatBuffer::offset(0), FlatBuffer::offset(2), FlatBuffer::offset(3)});
    buffer_.point(slots[0]);
    buffer_.vector({}, 0);
    buffer_.point(slots[1]);
    FlatBuffer::Slot next = buffer_.offsets(array.pieces);
    for (std::size_t i = 0; i < array.pieces; ++i, next += FlatBuffer::kOffsetBytes) {
      const IcechunkPiece& piece = plan_.pieces[array.first_piece + i];
      const std::string id = object_id(plan_, piece.manifest);
      const auto reference = buffer_.table(next, {FlatBuffer::structure(0, id), FlatBuffer::offset(1)});
      buffer_.point(reference[1]);
      const ReferencePlan::Array& planned = plan_.references.arrays[piece.array];
      const std::string extents =
          extents_of(array.grid, planned.parts[piece.part].begin, planned.end_of(piece.part));
      buffer_.vector(extents, array.grid.size());
    }
    buffer_.point(slots[2]);
    next = buffer_.offsets(array.shape.size());
    for (std::size_t i = 0; i < array.shape.size(); ++i, next += FlatBuffer::kOffsetBytes) {
      buffer_.table(next, {number(1, 4, array.grid[i]), number(0, 8, array.shape[i])});
    }
  }

  // The box of the chunks [begin, end): for each dimension the first place and the one behind the last.
  static std::string extents_of(std::span<const std::uint64_t> grid, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint64_t> first(grid.size()), last(grid.size());
    row_major_place(begin, grid, first);
    row_major_place(end - 1, grid, last);
    std::string out;
    for (std::size_t i = 0; i < grid.size(); ++i) {
      append_le(first[i], 4, out);
      append_le(last[i] + 1, 4, out);
    }
    return out;
  }

  const IcechunkPlan& plan_;
  FlatBuffer buffer_;
  FlatBuffer::Slot nodes_ = 0;
  std::size_t written_ = 0;
};

}  // namespace

std::string snapshot_name(const IcechunkPlan& plan) {
  return base32(object_id(plan, kSnapshotNumber));
}

std::string manifest_name(const IcechunkPlan& plan, std::uint32_t manifest) {
  return base32(object_id(plan, manifest));
}

ManifestWriter::ManifestWriter(TreeText& out, std::string_view id, std::uint64_t arrays) : buffer_(out) {
  constexpr std::uint64_t kLocationsAsTheyAre = 0;
  const auto top = buffer_.table(FlatBuffer::kRoot, {FlatBuffer::structure(0, id), FlatBuffer::offset(1),
                                                     number(3, 1, kLocationsAsTheyAre)});
  buffer_.point(top[1]);
  next_array_ = buffer_.offsets(arrays);
}

Status ManifestWriter::begin_piece(std::uint64_t first_node, std::size_t names,
                                   std::span<const std::uint64_t> grid, std::uint64_t chunks) {
  grid_ = grid;
  buffer_.forget_tables();
  // Of all names the references are the same.
  std::vector<FlatBuffer::Slot> references;
  for (std::size_t i = 0; i < names; ++i, next_array_ += FlatBuffer::kOffsetBytes) {
    const std::string id = node_id(first_node + i);
    references.push_back(
        buffer_.table(next_array_, {FlatBuffer::structure(0, id), FlatBuffer::offset(1)})[1]);
  }
  for (const FlatBuffer::Slot slot : references) buffer_.point(slot);
  next_reference_ = buffer_.offsets(chunks);
  return buffer_.status();
}

FlatBuffer::Slot ManifestWriter::next_slot() {
  return std::exchange(next_reference_, next_reference_ + FlatBuffer::kOffsetBytes);
}

void ManifestWriter::write_index(std::uint64_t chunk, FlatBuffer::Slot slot) {
  place_.resize(grid_.size());
  row_major_place(chunk, grid_, place_);
  index_.clear();
  for (const std::uint64_t at : place_) append_le(at, 4, index_);
  buffer_.point(slot);
  buffer_.vector(index_, grid_.size());
}

// Readers check that the file is the one that the references are of: of S3 by the entity tag, without quotes;
// as they send it so to other servers, too, which need not take that, of these by the time. A time with a
// fraction is later than its second.
void ManifestWriter::begin_file(const ReferencedFile& file) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  file_ = &file;
  location_ = &texts_[location(file.url)];
  entity_tag_ = nullptr;
  modified_ = 0;
  if (file.copied) return;
  std::string_view tag = file.entity_tag;
  if (!file.url.starts_with("s3://") || tag.empty()) {
    modified_ = static_cast<std::uint32_t>((file.modified + kSecond - 1) / kSecond);
    return;
  }
  if (tag.size() > 1 && tag.starts_with('"') && tag.ends_with('"')) tag = tag.substr(1, tag.size() - 2);
  entity_tag_ = &texts_[std::string(tag)];
}

Status ManifestWriter::add_range(std::uint64_t chunk, const ReferencedRange& range) {
  if (range.file != nullptr && range.file != file_) begin_file(*range.file);
  const bool tagged = range.file != nullptr && entity_tag_ != nullptr;
  const std::uint32_t modified = range.file != nullptr ? modified_ : 0;
  const auto slots = buffer_.table(
      next_slot(), {FlatBuffer::offset(0), FlatBuffer::offset(5), number(2, 8, range.offset),
                    number(3, 8, range.length), tagged ? FlatBuffer::offset(6) : number(7, 4, modified)});
  write_index(chunk, slots[0]);
  if (range.file != nullptr) {
    location_->push_back(slots[1]);
    if (tagged) entity_tag_->push_back(slots[4]);
  } else {
    buffer_.point(slots[1]);
    buffer_.text(range.url);
  }
  return buffer_.status();
}

Status ManifestWriter::add_bytes(std::uint64_t chunk, std::string_view bytes) {
  constexpr std::size_t kMostKept = 1U << 20;
  const auto slots = buffer_.table(next_slot(), {FlatBuffer::offset(0), FlatBuffer::offset(1)});
  write_index(chunk, slots[0]);
  if (held_by_.empty() || held_ != bytes) {
    write_held();
    if (bytes.size() > kMostKept) {
      buffer_.point(slots[1]);
      buffer_.vector(bytes, bytes.size());
      return buffer_.status();
    }
    held_ = bytes;
  }
  held_by_.push_back(slots[1]);
  return buffer_.status();
}

void ManifestWriter::write_held() {
  if (held_by_.empty()) return;
  for (const FlatBuffer::Slot slot : held_by_) buffer_.point(slot);
  buffer_.vector(held_, held_.size());
  held_by_.clear();
}

Status ManifestWriter::end_piece() {
  write_held();
  for (const auto& [text, slots] : texts_) {
    for (const FlatBuffer::Slot slot : slots) buffer_.point(slot);
    buffer_.text(text);
  }
  texts_.clear();
  file_ = nullptr;
  return buffer_.status();
}

std::uint64_t manifest_size(const MountContext& context, std::uint64_t arrays, std::uint64_t piece_bytes) {
  TreeText counted(context, TreeText::Bytes::Counted);
  (void)append_head(FileType::Manifest, counted);
  const std::uint64_t head = counted.size();
  return head +
         FlatBuffer::frame_size(ManifestWriter(counted, std::string(12, '\0'), arrays).size() + piece_bytes);
}

Status write_manifest(const ServedFilePtr& file, const IcechunkPlan& plan, std::uint32_t manifest,
                      TreeText& out, RequestBudget& budget) {
  H5_TRY(append_head(FileType::Manifest, out));
  const IcechunkManifest& written = plan.manifests[manifest];
  const auto pieces = std::span(plan.pieces).subspan(written.first_piece, written.pieces);
  std::uint64_t arrays = 0;
  for (const IcechunkPiece& piece : pieces) arrays += plan.references.arrays[piece.array].paths.size();
  ManifestWriter form(out, object_id(plan, manifest), arrays);
  for (const IcechunkPiece& piece : pieces) {
    const ReferencePlan::Array& planned = plan.references.arrays[piece.array];
    const IcechunkArray& array = plan.arrays[piece.array];
    H5_TRY(form.begin_piece(array.first_node, planned.paths.size(), array.grid,
                            planned.end_of(piece.part) - planned.parts[piece.part].begin));
    H5_TRY(write_planned_part(file, plan.references, planned, piece.part, form, budget));
    H5_TRY(form.end_piece());
  }
  H5_TRY(form.finish());
  if (out.size() == written.size) return {};
  return fail({ErrorCode::Stale, "the sources of a virtual dataset are others than its references are of"});
}

Status write_snapshot(const ServedFilePtr& file, const IcechunkPlan& plan, TreeText& out,
                      RequestBudget& budget) {
  H5_TRY(append_head(FileType::Snapshot, out));
  SnapshotWriter form(plan, out);
  H5_TRY(write_planned_metadata(file, plan.references, form, budget));
  return form.finish();
}

Status write_transaction(const ServedFilePtr&, const IcechunkPlan& plan, TreeText& out, RequestBudget&) {
  H5_TRY(append_head(FileType::Transaction, out));
  FlatBuffer buffer(out);
  const std::string id = object_id(plan, kSnapshotNumber);
  const auto top =
      buffer.table(FlatBuffer::kRoot, {FlatBuffer::structure(0, id), FlatBuffer::offset(1),
                                       FlatBuffer::offset(2), FlatBuffer::offset(3), FlatBuffer::offset(4),
                                       FlatBuffer::offset(5), FlatBuffer::offset(6), FlatBuffer::offset(7)});
  for (std::size_t i = 1; i < top.size(); ++i) buffer.point(top[i]);
  buffer.vector({}, 0);
  return buffer.finish();
}

Status write_repository(const ServedFilePtr&, const IcechunkPlan& plan, TreeText& out, RequestBudget&) {
  H5_TRY(append_head(FileType::Repository, out));
  constexpr std::uint64_t kVersion = 2, kNoParent = 0xFFFF'FFFF, kInitialized = 1;
  FlatBuffer buffer(out);
  const auto top =
      buffer.table(FlatBuffer::kRoot, {FlatBuffer::offset(1), FlatBuffer::offset(2), FlatBuffer::offset(3),
                                       FlatBuffer::offset(4), FlatBuffer::offset(5), FlatBuffer::offset(7),
                                       FlatBuffer::offset(9), number(0, 1, kVersion)});
  for (const std::size_t no_tags : {0U, 2U}) buffer.point(top[no_tags]);
  buffer.vector({}, 0);
  // A vector of one table, which follows it.
  const auto one = [&](FlatBuffer::Slot slot, std::initializer_list<FlatBuffer::Field> fields) {
    buffer.point(slot);
    const FlatBuffer::Slot only = buffer.offsets(1);
    return buffer.table(only, fields);
  };
  const auto branch = one(top[1], {FlatBuffer::offset(0)});
  buffer.point(branch[0]);
  buffer.text("main");
  const std::string id = object_id(plan, kSnapshotNumber);
  const auto snapshot = one(top[3], {FlatBuffer::structure(0, id), number(1, 4, kNoParent),
                                     number(2, 8, microseconds(plan)), FlatBuffer::offset(3)});
  buffer.point(snapshot[3]);
  buffer.text(message(plan));
  buffer.table(top[4], {number(1, 8, microseconds(plan))});
  const auto update =
      one(top[5], {FlatBuffer::offset(1), number(0, 1, kInitialized), number(2, 8, microseconds(plan))});
  buffer.table(update[0], {});
  buffer.point(top[6]);
  const std::string config = configuration(plan);
  buffer.vector(config, config.size());
  return buffer.finish();
}

}  // namespace h5mount::tree
