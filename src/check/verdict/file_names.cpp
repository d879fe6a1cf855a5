#include "file_names.h"

#include <filesystem>

#include "h5mount/format/superblock.h"
#include "h5mount/io/drivers.h"
#include "h5mount/metadata/object_header.h"

namespace h5mount::check {

namespace {

std::string allowed_text(AllowedNames allowed) {
  return allowed == AllowedNames::None ? "none" : "beneath";
}

// Replaces the first `%b`, or the `%s` of a set's member.
std::string with(std::string name, std::string_view conversion, const std::string& text) {
  const std::size_t at = name.find(conversion);
  return at == std::string::npos ? name : name.replace(at, conversion.size(), text);
}

// What the superblock, or its extension, says of a set that the file is of.
std::optional<format::DriverInfo> driver_info_of(const metadata::FileMetadata& file) {
  constexpr std::uint64_t kMostBytes = 4096;  // far more than the names of six members
  constexpr std::string_view kBlock = "DriverInformationBlock";
  const format::Superblock& superblock = file.superblock();
  if (superblock.driver_info_address != format::kUndefinedAddress) {
    const auto block = file.read_up_to(superblock.driver_info_address, kMostBytes, kBlock);
    if (!block) return std::nullopt;
    format::Cursor cursor = block->cursor(kBlock);
    auto info = format::decode_driver_info_block(cursor);
    return info ? std::optional(*std::move(info)) : std::nullopt;
  }
  if (superblock.extension_address == format::kUndefinedAddress) return std::nullopt;
  const auto header = metadata::load_object_header(file, superblock.extension_address);
  const auto* message = header ? (*header)->find(format::MessageType::DriverInfo) : nullptr;
  if (message == nullptr) return std::nullopt;
  format::Cursor cursor = message->cursor("DriverInfoMessage");
  auto info = format::decode_driver_info_message(cursor);
  return info ? std::optional(*std::move(info)) : std::nullopt;
}

// A pattern, or the common name of a set's files, which is none of a file.
bool names_a_set(const object::OpenedFile& file) {
  if (file.path.empty() || object::NamedPlaces::is_url(file.path)) return false;
  std::error_code code;
  return io::is_family_name(file.path) || !std::filesystem::exists(file.path, code);
}

}  // namespace

FileNames::FileNames(const object::OpenedFilePtr& file, const Policy& policy, Findings& findings)
    : file_(file), policy_(policy), findings_(findings) {}

const object::NamedPlaces& FileNames::places() {
  if (!places_) places_.emplace(*file_);
  return *places_;
}

bool FileNames::is_beneath(const std::string& name) {
  constexpr std::size_t kRemembered = 1U << 16;
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  const bool beneath = places().is_beneath(name);
  if (known_.size() < kRemembered) known_.emplace(name, beneath);
  return beneath;
}

void FileNames::judge(VerdictKind kind, AllowedNames allowed, const std::string& place,
                      const std::string& name) {
  if (allowed == AllowedNames::Any || (allowed == AllowedNames::Beneath && is_beneath(name))) return;
  findings_.add(kind, VerdictCode::Forbidden, place, name, allowed_text(allowed));
}

// One of the files that are there may be a symbolic link.
void FileNames::judge_pattern(VerdictKind kind, AllowedNames allowed, const std::string& place,
                              const std::string& name) {
  constexpr unsigned kMostLookedFor = 1024;
  judge(kind, allowed, place, name);
  if (allowed != AllowedNames::Beneath || !name.contains("%b") || !is_beneath(name)) return;
  for (unsigned number = 0; number < kMostLookedFor; ++number) {
    const std::string one = with(name, "%b", std::to_string(number));
    if (places().exists_beneath(one)) continue;
    return judge(kind, allowed, place, one);
  }
}

// What a first member alone has is not the whole file, and the others are not opened for what it says.
bool FileNames::judge_set(const metadata::FileMetadata& file) {
  const auto info = driver_info_of(file);
  if (!info || names_a_set(*file_)) return true;
  std::vector<std::string> names;
  for (const auto& member : info->members) names.push_back(member.name);
  if (names.empty()) names.push_back(info->identification);  // a family's own name says what the others are
  for (const std::string& name : names)
    findings_.add(VerdictKind::FileSet, VerdictCode::Forbidden, "/", name, "none");
  return false;
}

bool FileNames::is_own(std::string_view name) const {
  return name == "." || (!name.empty() && name == std::filesystem::path(file_->path).filename().string());
}

}  // namespace h5mount::check
