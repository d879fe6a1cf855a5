// A repository of Icechunk, version 2 of its specification (https://icechunk.io/en/stable/reference/spec):
// the newest snapshot of the branch main.
#include <fmt/format.h>
#include <fmt/ranges.h>

#if H5MOUNT_HAVE_ZSTD
#include <zstd.h>
#endif

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "flat_reader.h"
#include "references.h"

namespace h5mount::front {

namespace {

using Json = nlohmann::json;

Error damaged(const std::string& name) {
  return {ErrorCode::InvalidValue, name + ": no file of Icechunk, or a damaged one"};
}

// A frame of Zstandard.
Result<std::string> decompressed(const std::string& name, std::string_view frame) {
#if H5MOUNT_HAVE_ZSTD
  constexpr std::size_t kMostBytes = 1U << 30, kPiece = 1U << 20;
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          ZSTD_freeDStream);
  std::string out;
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  for (;;) {
    const std::size_t before = out.size();
    if (before > kMostBytes) return fail({ErrorCode::LimitExceeded, name + ": more than 1 GiB"});
    out.resize(before + kPiece);
    ZSTD_outBuffer to{out.data() + before, kPiece, 0};
    const std::size_t left = ZSTD_decompressStream(stream.get(), &to, &in);
    out.resize(before + to.pos);
    if (ZSTD_isError(left) != 0 || (left != 0 && to.pos == 0 && in.pos == in.size))
      return fail(damaged(name));
    if (left == 0) return out;
  }
#else
  (void)frame;
  return fail({ErrorCode::UnsupportedFeature, name + ": this build has no libzstd"});
#endif
}

// The FlatBuffer of a file.
Result<std::string> buffer_of(const ReadReferenceFile& read, const std::string& name) {
  constexpr std::string_view kMagic =
      "ICE\xF0\x9F\xA7\x8A"
      "CHUNK";
  constexpr std::size_t kVersion = 36, kCompression = 38, kHead = 39;
  H5_ASSIGN(const auto bytes, read(name));
  if (!bytes || bytes->size() < kHead || !bytes->starts_with(kMagic)) return fail(damaged(name));
  if ((*bytes)[kVersion] != 2)
    return fail({ErrorCode::UnsupportedFeature, name + ": another version of Icechunk than 2"});
  if ((*bytes)[kCompression] == 0) return bytes->substr(kHead);
  return decompressed(name, std::string_view(*bytes).substr(kHead));
}

constexpr std::uint64_t kIdBytes = 12, kNodeIdBytes = 8;

// Crockford's base32, without padding.
std::string base32(std::string_view id) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string out;
  for (std::size_t bit = 0; bit < 8 * id.size(); bit += 5) {
    unsigned value = 0;
    for (std::size_t i = bit; i < bit + 5; ++i)
      value =
          value << 1 | (i < 8 * id.size() ? static_cast<unsigned char>(id[i / 8]) >> (7 - i % 8) & 1U : 0);
    out += kDigits[value];
  }
  return out;
}

class IcechunkReader {
 public:
  IcechunkReader(const ReadReferenceFile& read, ReferenceVisitor& visitor) : read_(read), visitor_(visitor) {}

  Status run() {
    H5_ASSIGN(const std::string snapshot_id, newest_snapshot());
    const std::string name = "snapshots/" + base32(snapshot_id);
    H5_ASSIGN(const std::string bytes, buffer_of(read_, name));
    FlatReader in(bytes);
    const FlatTable snapshot = FlatTable::root(in);
    // Others than h5mount have other messages.
    if (const std::string_view message = snapshot.text(4); message.starts_with("[{\"url\""))
      H5_TRY(read_files(message, visitor_));
    const FlatVector nodes = snapshot.vector(2);
    for (std::uint64_t i = 0; i < nodes.count; ++i) H5_TRY(read_node(FlatTable::of(nodes, i)));
    const FlatVector manifests = snapshot.vector(7);
    std::vector<std::string> ids;
    for (std::uint64_t i = 0; i < manifests.count; ++i)
      ids.emplace_back(FlatTable::of(manifests, i).structure(0, kIdBytes));
    if (in.damaged()) return fail(damaged(name));
    for (const std::string& id : ids) H5_TRY(read_manifest("manifests/" + base32(id)));
    return {};
  }

 private:
  Result<std::string> newest_snapshot() {
    const std::string name = "repo";
    H5_ASSIGN(const std::string bytes, buffer_of(read_, name));
    FlatReader in(bytes);
    const FlatTable repository = FlatTable::root(in);
    const FlatVector branches = repository.vector(2), snapshots = repository.vector(4);
    for (std::uint64_t i = 0; i < branches.count; ++i) {
      const FlatTable branch = FlatTable::of(branches, i);
      if (branch.text(0) != "main") continue;
      const std::uint64_t number = branch.number(1, 4);
      if (number >= snapshots.count) break;
      std::string id(FlatTable::of(snapshots, number).structure(0, kIdBytes));
      if (in.damaged()) break;
      return id;
    }
    return fail(damaged(name));
  }

  Status read_node(const FlatTable& node) {
    constexpr std::uint64_t kArray = 1;
    std::string_view path = node.text(1);
    if (node.number(3, 1) != kArray || !path.starts_with('/')) return {};
    path.remove_prefix(1);
    arrays_[std::string(node.structure(0, kNodeIdBytes))] = path;
    const Json metadata = Json::parse(node.text(2), nullptr, false);
    if (metadata.is_discarded()) return fail({ErrorCode::InvalidValue, "a zarr.json that is no JSON"});
    return visitor_.visit_metadata(std::string(path) + "/zarr.json", metadata.dump());
  }

  Status read_manifest(const std::string& name) {
    H5_ASSIGN(const std::string bytes, buffer_of(read_, name));
    FlatReader in(bytes);
    const FlatTable manifest = FlatTable::root(in);
    const FlatVector arrays = manifest.vector(1);
    for (std::uint64_t i = 0; i < arrays.count; ++i) {
      const FlatTable array = FlatTable::of(arrays, i);
      const auto known = arrays_.find(std::string(array.structure(0, kNodeIdBytes)));
      const FlatVector references = array.vector(1);
      // Arrays may share references, which a small file could name for ever.
      if (references.count > left_)
        return fail({ErrorCode::LimitExceeded, name + ": more than 20 million references"});
      left_ -= references.count;
      for (std::uint64_t j = 0; known != arrays_.end() && j < references.count && !in.damaged(); ++j)
        H5_TRY(read_reference(known->second, FlatTable::of(references, j)));
    }
    return in.damaged() ? fail(damaged(name)) : Status();
  }

  Status read_reference(const std::string& path, const FlatTable& reference) {
    constexpr std::uint64_t kMostDimensions = 64;
    std::vector<std::uint64_t> place;
    const FlatVector index = reference.vector(0);
    const std::string_view location = reference.text(5), held = reference.text(1);
    // What many references share is visited with each of them.
    const std::uint64_t bytes = path.size() + location.size() + held.size();
    if (index.count > kMostDimensions || bytes > bytes_left_)
      return fail({ErrorCode::LimitExceeded, path + ": more than references can have"});
    bytes_left_ -= bytes;
    for (std::uint64_t i = 0; i < index.count; ++i) place.push_back(index.in->number(index.begin + 4 * i, 4));
    const std::string key =
        fmt::format("{}/{}", path, place.empty() ? "0" : fmt::format("{}", fmt::join(place, ".")));
    if (reference.has(5))
      return visitor_.visit_range(key, location, reference.number(2, 8), reference.number(3, 8));
    if (reference.has(1)) return visitor_.visit_held(key, held);
    return fail({ErrorCode::UnsupportedFeature,
                 key + ": a chunk of the repository itself, or one whose location is compressed"});
  }

  const ReadReferenceFile& read_;
  ReferenceVisitor& visitor_;
  std::map<std::string, std::string, std::less<>> arrays_;  // their paths, by the identifiers of their nodes
  std::uint64_t left_ = 20'000'000, bytes_left_ = 16ULL << 30;
};

}  // namespace

Status read_icechunk_references(const ReadReferenceFile& read, ReferenceVisitor& visitor) {
  return IcechunkReader(read, visitor).run();
}

}  // namespace h5mount::front
