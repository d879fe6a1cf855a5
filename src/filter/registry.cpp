// The registry: one line a filter. A maker that is null is a filter we know by name and cannot decode (in this
// build); its hint says what to do about it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "filters.h"

namespace h5mount {
namespace {

using namespace filter;

struct Entry {
  std::uint16_t id;
  std::string_view name;
  Maker maker;
  std::string_view hint;
};

#if H5MOUNT_HAVE_SZIP
constexpr Maker kSzip = make_szip;
#else
constexpr Maker kSzip = nullptr;
#endif
#if H5MOUNT_HAVE_BZIP2
constexpr Maker kBzip2 = make_bzip2;
#else
constexpr Maker kBzip2 = nullptr;
#endif
#if H5MOUNT_HAVE_LZ4
constexpr Maker kLz4 = make_lz4;
#else
constexpr Maker kLz4 = nullptr;
#endif
#if H5MOUNT_HAVE_ZSTD
constexpr Maker kZstd = make_zstd;
#else
constexpr Maker kZstd = nullptr;
#endif
#if H5MOUNT_HAVE_ZFP
constexpr Maker kZfp = make_zfp;
#else
constexpr Maker kZfp = nullptr;
#endif
#if H5MOUNT_HAVE_CHARLS
constexpr Maker kJpegLs = make_jpeg_ls;
#else
constexpr Maker kJpegLs = nullptr;
#endif

// By id. Names are those of the HDF Group's register of filters.
constexpr std::array kTable = {
    Entry{1, "deflate", make_deflate, ""},
    Entry{2, "shuffle", make_shuffle, ""},
    Entry{3, "fletcher32", make_fletcher32, ""},
};

const Entry* find_entry(std::uint16_t id) {
  const auto* entry = std::ranges::find(kTable, id, &Entry::id);
  return entry == kTable.end() ? nullptr : entry;
}

FilterInfo info_of(const Entry& entry) {
  const bool available = entry.maker != nullptr;
  return {entry.id, entry.name, available, available ? std::string_view{} : entry.hint};
}

}  // namespace

FilterInfo filter_info(std::uint16_t id) {
  const Entry* entry = find_entry(id);
  return entry != nullptr ? info_of(*entry) : FilterInfo{id, {}, false, "unknown to this program; a plugin may have it"};
}

std::vector<FilterInfo> known_filters() {
  std::vector<FilterInfo> all;
  for (const Entry& entry : kTable) all.push_back(info_of(entry));
  return all;
}

Result<std::shared_ptr<const Filter>> make_filter(const FilterSpec& spec, std::size_t chunk_bytes) {
  const Entry* entry = find_entry(spec.id);
  if (entry != nullptr && entry->maker != nullptr) return entry->maker(spec, chunk_bytes);
  const FilterInfo info = filter_info(spec.id);
  const std::string_view name = !info.name.empty() ? info.name : std::string_view(spec.name);
  return fail(Error(ErrorCode::UnsupportedFeature,
                    fmt::format("filter {}{} is not available: {}", spec.id,
                                name.empty() ? "" : fmt::format(" ({})", name), info.missing_hint)));
}

}  // namespace h5mount
