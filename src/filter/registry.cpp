// The registry: one line per filter. A null factory marks a filter that is known by name but cannot be
// decoded in this build; its hint says what is missing.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codecs.h"
#include "filters.h"

namespace h5mount::filter {
namespace {

struct Entry {
  std::uint16_t id;
  std::string_view name;
  Factory* make;
  std::string_view hint;
};

// Sorted by id. Names are those of The HDF Group's registry of filters.
constexpr std::array kTable = {
    Entry{1, "deflate", make_codec<decode_zlib>, ""},
    Entry{2, "shuffle", make_shuffle, ""},
    Entry{3, "fletcher32", make_fletcher32, ""},
    Entry{4, "szip", H5MOUNT_HAVE_SZIP ? make_szip : nullptr, "needs libaec at build time (libaec-dev)"},
    Entry{5, "nbit", make_nbit, ""},
    Entry{6, "scaleoffset", make_scale_offset, ""},
    Entry{305, "lzo", nullptr, "the LZO plugin of PyTables has it"},
    Entry{307, "bzip2", H5MOUNT_HAVE_BZIP2 ? make_codec<decode_bzip2> : nullptr,
          "needs libbz2 at build time (libbz2-dev)"},
    Entry{32000, "lzf", make_codec<decode_lzf>, ""},
    Entry{32001, "blosc", make_blosc1, ""},
    Entry{32002, "mafisc", nullptr, "the MAFISC plugin has it"},
    Entry{32003, "snappy", nullptr, "the Snappy plugin has it"},
    Entry{32004, "lz4", H5MOUNT_HAVE_LZ4 ? make_lz4 : nullptr, "needs liblz4 at build time (liblz4-dev)"},
    Entry{32005, "apax", nullptr, "the APAX plugin of Samplify has it"},
    Entry{32006, "cbf", nullptr, "the CBF plugin has it"},
    Entry{32007, "jpeg-xr", nullptr, "the JPEG-XR plugin has it"},
    Entry{32008, "bitshuffle", make_bitshuffle, ""},
    Entry{32009, "spdp", nullptr, "the SPDP plugin has it"},
    Entry{32010, "lpc-rice", nullptr, "the LPC-Rice plugin has it"},
    Entry{32011, "ccsds-123", nullptr, "the CCSDS-123 plugin has it"},
    Entry{32012, "jpeg-ls", nullptr, "the JPEG-LS plugin of its authors has it"},
    Entry{32013, "zfp", H5MOUNT_HAVE_ZFP ? make_zfp : nullptr, "needs libzfp at build time (libzfp-dev)"},
    Entry{32014, "fpzip", nullptr, "the fpzip plugin has it"},
    Entry{32015, "zstd", H5MOUNT_HAVE_ZSTD ? make_codec<decode_zstd, ByteSpan> : nullptr,
          "needs libzstd at build time (libzstd-dev)"},
    Entry{32016, "b3d", nullptr, "the B3D plugin has it"},
    Entry{32017, "sz", nullptr, "the SZ plugin (H5Z-SZ, hdf5plugin) has it"},
    Entry{32018, "fcidecomp", H5MOUNT_HAVE_CHARLS ? make_codec<decode_jpeg_ls> : nullptr,
          "needs libcharls at build time (libcharls-dev)"},
    Entry{32019, "jpeg", nullptr, "the JPEG plugin has it"},
    Entry{32020, "vbz", nullptr, "the VBZ plugin of Oxford Nanopore has it"},
    Entry{32021, "fapec", nullptr, "the FAPEC plugin has it"},
    Entry{32022, "bitgroom", nullptr, "rounds when writing only; the CCR plugin has it"},
    Entry{32023, "granular-bitround", nullptr, "rounds when writing only; the CCR plugin has it"},
    Entry{32024, "sz3", nullptr, "the SZ3 plugin (hdf5plugin) has it"},
    Entry{32025, "delta-rice", nullptr, "the Delta-Rice plugin has it"},
    Entry{32026, "blosc2", make_blosc2, ""},
    Entry{32027, "flac", nullptr, "the FLAC plugin has it"},
    Entry{32028, "sperr", nullptr, "the SPERR plugin (hdf5plugin) has it"},
};

const Entry* find_entry(std::uint16_t id) {
  const auto* entry = std::ranges::find(kTable, id, &Entry::id);
  return entry == kTable.end() ? nullptr : entry;
}

FilterInfo info_of(const Entry& entry) {
  const bool available = entry.make != nullptr;
  return {entry.id, entry.name, available, available ? std::string_view{} : entry.hint};
}

}  // namespace

FilterInfo filter_info(std::uint16_t id) {
  const Entry* entry = find_entry(id);
  return entry != nullptr ? info_of(*entry)
                          : FilterInfo{id, {}, false, "unknown to this program; a plugin may have it"};
}

std::vector<FilterInfo> known_filters() {
  std::vector<FilterInfo> all;
  all.reserve(std::size(kTable));
  for (const Entry& entry : kTable) all.push_back(info_of(entry));
  return all;
}

Result<std::shared_ptr<const Filter>> make_filter(const FilterSpec& spec, std::size_t chunk_bytes) {
  const Entry* entry = find_entry(spec.id);
  if (entry != nullptr && entry->make != nullptr) return entry->make(spec, chunk_bytes);
  auto plugin = make_plugin_filter(spec, chunk_bytes);
  if (plugin || plugin.error().code() != ErrorCode::NotFound) return plugin;
  const FilterInfo info = filter_info(spec.id);
  const std::string_view name = !info.name.empty() ? info.name : std::string_view(spec.name);
  return fail(
      Error(ErrorCode::UnsupportedFeature,
            fmt::format("filter {}{} is not available: {}; the option plugins=DIRECTORY uses HDF5's plugins",
                        spec.id, name.empty() ? "" : fmt::format(" ({})", name), info.missing_hint)));
}

}  // namespace h5mount::filter
