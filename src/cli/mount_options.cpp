#include "mount_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>

#include "h5mount/base/checked.h"

namespace h5mount::cli {
namespace {

using Value = std::string_view;

Error bad(std::string text) { return {ErrorCode::InvalidValue, std::move(text)}; }

template <class Number>
std::optional<Number> parse_number(Value text, int base = 10) {
  Number number{};
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (trouble != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint32_t> parse_mask(Value text) {
  const auto mask = parse_number<std::uint32_t>(text, 8);
  return mask && *mask <= 0777 ? mask : std::nullopt;
}

template <class T>
bool assign(std::optional<T> parsed, T& out) {
  if (parsed) out = *parsed;
  return parsed.has_value();
}

template <class T>
bool assign(std::optional<T> parsed, std::optional<T>& out) {
  if (parsed) out = parsed;
  return parsed.has_value();
}

std::optional<ExternalPolicy> parse_external(Value text) {
  if (text == "beneath") return ExternalPolicy::Beneath;
  if (text == "any") return ExternalPolicy::Any;
  if (text == "none") return ExternalPolicy::None;
  return std::nullopt;
}

std::optional<Swmr> parse_swmr(Value text) {
  if (text == "auto") return Swmr::Auto;
  if (text == "on") return Swmr::On;
  if (text == "off") return Swmr::Off;
  return std::nullopt;
}

// Absolute: the process that serves has another working directory.
std::optional<std::vector<std::string>> parse_directories(Value text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const Value one = text.substr(0, text.find(':'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    if (one.empty()) continue;
    std::error_code trouble;
    const std::filesystem::path place = std::filesystem::canonical(one, trouble);
    if (trouble || !std::filesystem::is_directory(place, trouble)) return std::nullopt;
    out.push_back(place);
  }
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

std::optional<LogLevel> parse_log_level(Value text) {
  static constexpr std::array<Value, 4> kNames = {"error", "warning", "info", "debug"};
  const auto found = std::ranges::find(kNames, text);
  if (found != kNames.end()) return static_cast<LogLevel>(found - kNames.begin());
  const auto number = parse_number<unsigned>(text);
  return number && *number < kNames.size() ? std::optional(static_cast<LogLevel>(*number)) : std::nullopt;
}

std::optional<unsigned> parse_threads(Value text) {
  const auto number = parse_number<unsigned>(text);
  return number && *number >= 1 && *number <= 1024 ? number : std::nullopt;
}

bool set_text(Value text, std::string& out) {
  out = text;
  return !text.empty();
}

// name=value. `take` is false where the value cannot be.
struct ValueOption {
  Value name;
  Value form;
  bool (*take)(Value value, MountOptions& out);
};

constexpr ValueOption kValueOptions[] = {
    {"uid", "a number", [](Value v, MountOptions& o) { return assign(parse_number<std::uint32_t>(v), o.uid); }},
    {"gid", "a number", [](Value v, MountOptions& o) { return assign(parse_number<std::uint32_t>(v), o.gid); }},
    {"umask", "an octal number",
     [](Value v, MountOptions& o) {
       o.directory_umask = parse_mask(v).value_or(0);
       return assign(parse_mask(v), o.file_umask);
     }},
    {"fmask", "an octal number", [](Value v, MountOptions& o) { return assign(parse_mask(v), o.file_umask); }},
    {"dmask", "an octal number", [](Value v, MountOptions& o) { return assign(parse_mask(v), o.directory_umask); }},
    {"fsname", "a name", [](Value v, MountOptions& o) { return set_text(v, o.fsname); }},
    {"subtype", "a name", [](Value v, MountOptions& o) { return set_text(v, o.subtype); }},
    {"max_read", "a number of bytes, 4096 or more",
     [](Value v, MountOptions& o) {
       return assign(parse_number<std::uint32_t>(v), o.max_read) && (o.max_read == 0 || o.max_read >= 4096);
     }},
    {"cache_size", "bytes, or a number with K, M or G",
     [](Value v, MountOptions& o) { return assign(parse_bytes(v), o.cache_bytes); }},
    {"threads", "a number from 1 to 1024",
     [](Value v, MountOptions& o) { return assign(parse_threads(v), o.threads); }},
    {"external", "beneath, any or none",
     [](Value v, MountOptions& o) { return assign(parse_external(v), o.external); }},
    {"swmr", "auto, on or off", [](Value v, MountOptions& o) { return assign(parse_swmr(v), o.swmr); }},
    {"plugins", "directories that are there, with ':' between them",
     [](Value v, MountOptions& o) { return assign(parse_directories(v), o.plugins); }},
    {"log_level", "error, warning, info or debug",
     [](Value v, MountOptions& o) { return assign(parse_log_level(v), o.log_level); }},
};

// libfuse knows them, or hands them to the kernel.
constexpr Value kForLibfuse[] = {"allow_other", "allow_root", "auto_unmount", "noexec", "exec", "noatime", "atime",
                                 "sync", "async", "dirsync", "nosymfollow"};
constexpr Value kForKernel[] = {"context", "fscontext", "defcontext", "rootcontext", "blksize"};

// Said by mount(8) and fstab for others than us, or true of every mount of ours anyway. `dev`, `suid` and `rw`
// come unasked with `mount -t fuse.h5mount`; the mount stays nodev, nosuid and read-only.
constexpr Value kNothingToDo[] = {
    "ro",     "rw",      "dev",                 "nodev", "suid",  "nosuid",      "auto",
    "noauto", "user",    "nouser",              "users", "owner", "group",       "defaults", "nofail",
    "_netdev", "relatime", "norelatime",        "strictatime", "nostrictatime", "diratime", "nodiratime",
    "lazytime", "nolazytime", "iversion",       "noiversion", "mand", "nomand",  "silent",   "loud",
    "nonempty", "remount"};
constexpr Value kNothingToDoWithValue[] = {"comment", "uhelper", "helper"};

bool is_one_of(std::span<const Value> names, Value name) { return std::ranges::find(names, name) != names.end(); }

bool is_ignored(Value name, bool has_value) {
  if (name.starts_with("x-") || name.starts_with("X-")) return true;
  return is_one_of(has_value ? std::span<const Value>(kNothingToDoWithValue) : kNothingToDo, name);
}

Status take_flag(Value name, bool sloppy, MountOptions& out) {
  if (is_one_of(kForLibfuse, name)) {
    if (name == "allow_other" || name == "allow_root") out.allow_other = true;
    out.for_libfuse.emplace_back(name);
    return {};
  }
  if (name == "default_permissions") {
    out.default_permissions = true;
    return {};
  }
  if (name == "force") {
    out.force = true;
    return {};
  }
  if (sloppy || is_ignored(name, false)) return {};
  return fail(bad(fmt::format("unknown option '{}' (see h5mount --help)", escape_for_log(name))));
}

Status take_value(Value name, Value value, bool sloppy, MountOptions& out) {
  for (const ValueOption& option : kValueOptions) {
    if (option.name != name) continue;
    if (option.take(value, out)) return {};
    return fail(bad(fmt::format("{}={}: must be {}", name, escape_for_log(value), option.form)));
  }
  if (is_one_of(kForKernel, name)) {
    out.for_libfuse.push_back(fmt::format("{}={}", name, value));
    return {};
  }
  if (sloppy || is_ignored(name, true)) return {};
  return fail(bad(fmt::format("unknown option '{}=' (see h5mount --help)", escape_for_log(name))));
}

}  // namespace

std::vector<std::string> split_options(std::string_view text) {
  std::vector<std::string> out;
  std::string current;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      current += text[++i];
    } else if (text[i] == ',') {
      out.push_back(std::exchange(current, {}));
    } else {
      current += text[i];
    }
  }
  out.push_back(std::move(current));
  std::erase(out, std::string());
  return out;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  if (text.empty()) return std::nullopt;
  static constexpr std::string_view kUnits = "KMGT";
  std::uint64_t unit = 1;
  const auto found = kUnits.find(static_cast<char>(text.back() & ~0x20));
  if (found != std::string_view::npos) {
    unit = 1ULL << (10 * (found + 1));
    text.remove_suffix(1);
  }
  const auto number = parse_number<std::uint64_t>(text);
  return number ? checked_mul(*number, unit) : std::nullopt;
}

Result<MountOptions> parse_mount_options(const std::vector<std::string>& texts, bool sloppy) {
  MountOptions out;
  for (const std::string& text : texts) {
    for (const std::string& option : split_options(text)) {
      const std::size_t equals = option.find('=');
      const Value name = Value(option).substr(0, equals);
      if (equals == std::string::npos) {
        H5_TRY(take_flag(name, sloppy, out));
      } else {
        H5_TRY(take_value(name, Value(option).substr(equals + 1), sloppy, out));
      }
    }
  }
  return out;
}

}  // namespace h5mount::cli
