#include "h5mount/metadata/probe.h"

#include <algorithm>
#include <array>

#include "h5mount/base/structures.h"
#include "h5mount/format/messages.h"
#include "h5mount/metadata/object_header.h"

namespace h5mount::metadata {
namespace {

constexpr std::size_t kDriverBlockBytes = 4096;  // far more than the names of six members

Result<std::optional<format::DriverInfo>> driver_block(const io::ByteSource& source, std::uint64_t at) {
  if (at >= source.size()) return std::optional<format::DriverInfo>{};
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(std::min<std::uint64_t>(kDriverBlockBytes, source.size() - at)));
  H5_TRY(source.read_at(at, bytes));
  format::Cursor cursor(bytes, at, "DriverInfoBlock", {});
  H5_ASSIGN(auto info, format::decode_driver_info_block(cursor));
  return std::optional(std::move(info));
}

Result<std::optional<format::DriverInfo>> driver_message(std::shared_ptr<io::ByteSource> source,
                                                         std::uint64_t extension) {
  H5_ASSIGN(const auto file, FileMetadata::open(std::move(source), {.force = true}));
  const auto header = load_object_header(*file, extension);
  const HeaderMessage* message = header ? (*header)->find(format::MessageType::DriverInfo) : nullptr;
  if (message == nullptr) return std::optional<format::DriverInfo>{};
  format::Cursor cursor = message->cursor("DriverInfoMessage");
  H5_ASSIGN(auto info, format::decode_driver_info_message(cursor));
  return std::optional(std::move(info));
}

}  // namespace

Result<std::uint64_t> locate_superblock(const io::ByteSource& source) {
  std::array<std::byte, format::kFormatSignature.size()> found{};
  for (std::uint64_t place = 0; place < source.size(); place = place == 0 ? 512 : place * 2) {
    if (source.size() - place < found.size()) break;
    H5_TRY(source.read_at(place, found));
    if (as_text(found) == format::kFormatSignature) return place;
    if (place >= std::uint64_t{1} << 62) break;
  }
  return fail(Error(ErrorCode::BadSignature, structures::kSuperblock, "signature", 0)
                  .with_detail("not an HDF5 file: no signature at 0, 512, 1024, …"));
}

Result<format::Superblock> load_superblock(const io::ByteSource& source, std::uint64_t place) {
  constexpr std::size_t kUsual = 128;
  // The first member of a set may have nothing but the superblock: those of versions 0 and 2 with 8-byte
  // sizes.
  constexpr std::size_t kAlone[] = {96, 48};
  const std::uint64_t left = source.size() > place ? source.size() - place : 0;
  const auto load = [&](std::size_t most) -> Result<format::Superblock> {
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::min<std::uint64_t>(most, left)));
    H5_TRY(source.read_at(place, bytes));
    format::Cursor cursor(bytes, place, structures::kSuperblock, {});  // the superblock states its own sizes
    return format::decode_superblock(cursor);
  };
  auto usual = load(kUsual);
  if (usual || usual.error().code() != ErrorCode::Truncated || left <= kUsual) return usual;
  if (auto larger = load(format::kMaxSuperblockBytes)) return larger;
  for (const std::size_t bytes : kAlone)
    if (auto alone = load(bytes)) return alone;
  return usual;
}

Result<std::optional<format::DriverInfo>> probe_driver_info(std::shared_ptr<io::ByteSource> first_member) {
  H5_ASSIGN(const std::uint64_t place, locate_superblock(*first_member));
  H5_ASSIGN(const format::Superblock superblock, load_superblock(*first_member, place));
  if (superblock.driver_info_address != format::kUndefinedAddress &&
      superblock.driver_info_address <= ~std::uint64_t{0} - place)
    return driver_block(*first_member, superblock.driver_info_address + place);
  if (superblock.extension_address != format::kUndefinedAddress)
    return driver_message(std::move(first_member), superblock.extension_address);
  return std::optional<format::DriverInfo>{};
}

}  // namespace h5mount::metadata
