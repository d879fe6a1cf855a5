// POSIX.1-2001 pax: a member may be preceded by one of type 'x', whose data are records `LENGTH KEY=VALUE\n`,
// the length counting itself. GNU tar's own keys: SCHILY.xattr.NAME, GNU.sparse.*; as in it, a `=` in the
// name of an attribute is written `%3D` and a `%` `%25`. Names are written as bytes even if they are not
// UTF-8, as GNU tar does too.
#include "tar_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "file_reader.h"

namespace h5mount::front {
namespace {

constexpr std::size_t kNameBytes = 100;  // of a name or a target in a ustar header
constexpr std::uint64_t kMaxNumber7 = 07777777, kMaxNumber11 = 077777777777;
constexpr std::size_t kRecordBytes = 20 * kTarBlock;

// A ustar header, IEEE Std 1003.1 'pax': numbers are octal digits, ended by NUL.
struct Ustar {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, target[100];
  char magic[6], version[2], user[32], group[32], device_major[8], device_minor[8], prefix[155], rest[12];
};
static_assert(sizeof(Ustar) == kTarBlock && offsetof(Ustar, magic) == 257);

template <std::size_t N>
void set_text(char (&field)[N], std::string_view text) {
  std::copy_n(text.begin(), std::min(N, text.size()), field);
}

// Writes zeros if the number does not fit: a pax record then has it.
template <std::size_t N>
void set_number(char (&field)[N], std::uint64_t number) {
  const std::string digits = fmt::format("{:0{}o}", number, N - 1);
  set_text(field, digits.size() < N ? digits : std::string(N - 1, '0'));
}

std::string ustar(std::string_view name, char type, const TarMember& member, std::uint64_t stored_bytes) {
  Ustar header = {};
  set_text(header.name, name);
  set_number(header.mode, member.stat.mode);
  set_number(header.uid, member.stat.uid);
  set_number(header.gid, member.stat.gid);
  set_number(header.size, stored_bytes);
  set_number(header.mtime, member.stat.mtime < 0 ? 0 : static_cast<std::uint64_t>(member.stat.mtime));
  header.type = type;
  set_text(header.target, member.target);
  set_text(header.magic, std::string_view("ustar\0", 6));
  set_text(header.version, "00");
  set_number(header.device_major, 0);
  set_number(header.device_minor, 0);
  std::ranges::fill(header.checksum, ' ');
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  const auto sum = std::accumulate(out.begin(), out.end(), 0U,
                                   [](unsigned all, char c) { return all + static_cast<unsigned char>(c); });
  const std::string digits = fmt::format("{:06o}", sum);
  std::copy_n(digits.c_str(), digits.size() + 1, out.begin() + offsetof(Ustar, checksum));
  return out;
}

void append_record(std::string& out, std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;  // the space, the `=`, the newline
  std::size_t length = rest + 1;
  while (fmt::formatted_size("{}", length) + rest != length)
    length = fmt::formatted_size("{}", length) + rest;
  out += fmt::format("{} {}=", length, key);
  out.append(value).append("\n");
}

std::string xattr_key(std::string_view name) {
  std::string out = "SCHILY.xattr.";
  for (const char c : name) {
    if (c == '=' || c == '%')
      out += c == '=' ? "%3D" : "%25";
    else
      out += c;
  }
  return out;
}

// `N\n`, then `OFFSET\nBYTES\n` of each extent; the last one ends at the file's end.
std::string sparse_map(const TarMember& member) {
  std::vector<dataset::ByteRange> extents = member.extents;
  if (extents.empty() || extents.back().end < member.size) extents.push_back({member.size, member.size});
  std::string out = fmt::format("{}\n", extents.size());
  for (const dataset::ByteRange& extent : extents)
    out += fmt::format("{}\n{}\n", extent.begin, extent.end - extent.begin);
  return out + tar_padding(out.size());
}

std::string records(const TarMember& member, std::uint64_t stored_bytes) {
  std::string out;
  if (member.sparse) {
    append_record(out, "GNU.sparse.major", "1");
    append_record(out, "GNU.sparse.minor", "0");
    append_record(out, "GNU.sparse.name", member.name);
    append_record(out, "GNU.sparse.realsize", fmt::format("{}", member.size));
  } else if (member.name.size() > kNameBytes) {
    append_record(out, "path", member.name);
  }
  if (member.target.size() > kNameBytes) append_record(out, "linkpath", member.target);
  if (stored_bytes > kMaxNumber11) append_record(out, "size", fmt::format("{}", stored_bytes));
  if (member.stat.uid > kMaxNumber7) append_record(out, "uid", fmt::format("{}", member.stat.uid));
  if (member.stat.gid > kMaxNumber7) append_record(out, "gid", fmt::format("{}", member.stat.gid));
  if (member.stat.mtime_nanoseconds > 0 && member.stat.mtime >= 0)
    append_record(out, "mtime", fmt::format("{}.{:09}", member.stat.mtime, member.stat.mtime_nanoseconds));
  else if (member.stat.mtime < 0 || static_cast<std::uint64_t>(member.stat.mtime) > kMaxNumber11)
    append_record(out, "mtime", fmt::format("{}", member.stat.mtime));
  for (const auto& [name, value] : member.xattrs) append_record(out, xattr_key(name), value);
  return out;
}

}  // namespace

std::string tar_header(const TarMember& member) {
  const std::string map = member.sparse ? sparse_map(member) : std::string();
  const std::uint64_t stored_bytes = member.type != TarType::File ? 0
                                     : member.sparse              ? map.size() + total_bytes(member.extents)
                                                                  : member.size;
  // Readers that support neither pax nor sparse files show these names.
  const std::string base = member.name.substr(member.name.rfind('/', member.name.size() - 2) + 1);
  const std::string name = member.sparse ? "./GNUSparseFile.0/" + base : member.name;
  std::string out;
  if (const std::string pax = records(member, stored_bytes); !pax.empty()) {
    TarMember extended;
    extended.stat.mode = 0644;
    extended.stat.mtime = member.stat.mtime;
    out = ustar("./PaxHeaders/" + base, 'x', extended, pax.size()) + pax + tar_padding(pax.size());
  }
  return out + ustar(name, static_cast<char>(member.type), member, stored_bytes) + map;
}

std::string tar_padding(std::uint64_t bytes) {
  return std::string((kTarBlock - bytes % kTarBlock) % kTarBlock, '\0');
}

std::string tar_end(std::uint64_t bytes) {
  const std::uint64_t end = bytes + 2 * kTarBlock;
  return std::string(2 * kTarBlock + (kRecordBytes - end % kRecordBytes) % kRecordBytes, '\0');
}

}  // namespace h5mount::front
