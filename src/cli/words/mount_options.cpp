#include "mount_options.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <span>

#include "h5mount/base/text.h"

namespace h5mount::cli {
namespace {

using Value = std::string_view;

bool take_join(Value text, std::string JoinWords::* word, MountOptions& out) {
  if (!out.join_words) out.join_words.emplace();
  (*out.join_words).*word = text;
  return is_join_word(word, text);
}

constexpr std::uint64_t kMinRead = 4096;  // a page, the kernel's smallest read

Error bad(std::string text) {
  return {ErrorCode::InvalidValue, std::move(text)};
}

std::optional<std::uint32_t> parse_mask(Value text) {
  const auto mask = parse_whole<std::uint32_t>(text, 8);
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

bool take_salvage(Value text, MountOptions& out) {
  out.salvage = SalvageMode::Errors;
  out.salvage_far = false;
  while (!text.empty()) {
    const Value one = take_until(text, ':');
    if (one == "fill") {
      out.salvage = SalvageMode::Fill;
    } else if (one == "far") {
      out.salvage_far = true;
    } else {
      return false;
    }
  }
  return true;
}

std::optional<Swmr> parse_swmr(Value text) {
  if (text == "auto") return Swmr::Auto;
  if (text == "on") return Swmr::On;
  if (text == "off") return Swmr::Off;
  return std::nullopt;
}

// The directories are made absolute, as the serving process has another working directory.
std::optional<std::vector<std::string>> parse_directories(Value text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const Value one = take_until(text, ':');
    if (one.empty()) continue;
    std::error_code trouble;
    const std::filesystem::path place = std::filesystem::canonical(one, trouble);
    if (trouble || !std::filesystem::is_directory(place, trouble)) return std::nullopt;
    out.push_back(place);
  }
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

// A keyword, or directories separated by ':', among which `beneath` may be.
bool take_external(Value text, MountOptions& out) {
  out.external_directories.clear();
  out.external = object::ExternalPolicy::Listed;
  if (text == "any" || text == "none") {
    out.external = text == "any" ? object::ExternalPolicy::Any : object::ExternalPolicy::None;
    return true;
  }
  while (!text.empty()) {
    const Value one = take_until(text, ':');
    if (one == "beneath") {
      out.external = object::ExternalPolicy::Beneath;
      continue;
    }
    const auto directories = parse_directories(one);
    if (!directories && !one.empty()) return false;
    if (directories) out.external_directories.push_back(directories->front());
  }
  return out.external == object::ExternalPolicy::Beneath || !out.external_directories.empty();
}

std::optional<LogLevel> parse_log_level(Value text) {
  static constexpr std::array<Value, 4> kNames = {"error", "warning", "info", "debug"};
  const auto found = std::ranges::find(kNames, text);
  if (found != kNames.end()) return static_cast<LogLevel>(found - kNames.begin());
  const auto number = parse_whole<unsigned>(text);
  return number && *number < kNames.size() ? std::optional(static_cast<LogLevel>(*number)) : std::nullopt;
}

template <class T>
std::optional<T> parse_number(Value text, T most) {
  const auto number = parse_whole<T>(text);
  return number && *number >= 1 && *number <= most ? number : std::nullopt;
}

std::optional<std::chrono::seconds> parse_timeout(Value text) {
  const auto number = parse_number(text, 3600U);
  return number ? std::optional(std::chrono::seconds(*number)) : std::nullopt;
}

bool take_survive(Value text, MountOptions& out) {
  out.survive = true;
  return text.empty() || assign(parse_timeout(text), out.patience);
}

bool take_validate(Value text, MountOptions& out) {
  out.remote.validate_size = text == "size";
  return text == "size" || text == "etag";
}

bool set_text(Value text, std::string& out) {
  out = text;
  return !text.empty();
}

bool take_references(Value text, MountOptions& out) {
  using enum tree::ReferenceOptions::Others;
  tree::ReferenceOptions& references = out.references;
  if (text == "inline") return references.others = Held, true;
  if (text == "direct") return references.others = LeftOut, true;
  if (!text.starts_with("http://") && !text.starts_with("https://")) return false;
  references.others = Served;
  references.server = text;
  return true;
}

// The path is made absolute, as the serving process has another working directory.
bool set_absolute(Value text, std::string& out) {
  std::error_code trouble;
  out = std::filesystem::absolute(text, trouble).string();
  return !text.empty() && !trouble;
}

// The usual place for caches: the user's, as XDG defines it; for root, who may have no home, the system's.
std::string usual_cache_directory() {
  if (::geteuid() == 0) return "/var/cache/h5mount";
  const char* const named = std::getenv("XDG_CACHE_HOME");
  if (named != nullptr && *named == '/') return std::string(named) + "/h5mount";
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/h5mount" : std::string();
}

bool take_disk_cache(Value text, MountOptions& out) {
  if (!text.empty()) return set_absolute(text, out.remote.disk_cache);
  out.remote.disk_cache = usual_cache_directory();
  return !out.remote.disk_cache.empty();
}

bool take_disk_cache_size(Value text, MountOptions& out) {
  const auto bytes = parse_bytes(text);
  if (bytes) out.remote.disk_cache_bytes = *bytes;
  return bytes && *bytes >= remote::kMinDiskCacheBytes;
}

// A number, or a name in the database that `find` asks.
template <class Entry, class Id>
std::optional<std::uint32_t> parse_owner(Value text, Entry* (*find)(const char* name), Id Entry::* id) {
  constexpr std::uint32_t kNobodyAtAll = ~std::uint32_t{0};
  if (const auto number = parse_whole<std::uint32_t>(text))
    return *number == kNobodyAtAll ? std::nullopt : number;
  const Entry* const entry = find(std::string(text).c_str());
  return entry != nullptr ? std::optional<std::uint32_t>(entry->*id) : std::nullopt;
}

bool set_umask(Value text, MountOptions& out) {
  const auto mask = parse_mask(text);
  out.file_umask = out.directory_umask = mask.value_or(0);
  return mask.has_value();
}

bool set_max_read(Value text, MountOptions& out) {
  const auto bytes = parse_bytes(text);
  if (bytes && *bytes == 0) return out.max_read = 0, true;  // 0: the kernel's own limit
  if (!bytes || *bytes < kMinRead || *bytes > std::numeric_limits<std::uint32_t>::max()) return false;
  out.max_read = static_cast<std::uint32_t>(*bytes);
  return true;
}

bool pass_on(Value name, MountOptions& out) {
  out.for_libfuse.emplace_back(name);
  return true;
}

// The options of h5mount after -o: the only table for parsing, --help and the suggestions. `form` is empty
// for a flag, and begins with '[' if the value may be omitted; `take` returns false for an invalid value.
struct Option {
  Value name;
  Value form;
  Value must_be;
  Value help;
  bool (*take)(Value value, MountOptions& out);
};

constexpr Option kOptions[] = {
    {"allow_other", "", "", "other users may use the mount (external= is then none by default)",
     [](Value, MountOptions& o) { return o.allow_other = true, pass_on("allow_other", o); }},
    {"allow_root", "", "", "root may use the mount of another user",
     [](Value, MountOptions& o) { return o.allow_other = true, pass_on("allow_root", o); }},
    {"default_permissions", "", "", "the kernel checks permission bits (also done with allow_other)",
     [](Value, MountOptions& o) { return o.default_permissions = true; }},
    {"auto_unmount", "", "", "unmounted also when h5mount is killed",
     [](Value, MountOptions& o) { return pass_on("auto_unmount", o); }},
    {"uid", "USER", "the number or the name of a user", "owner shown, in place of the HDF5 file's",
     [](Value v, MountOptions& o) { return assign(parse_owner(v, ::getpwnam, &passwd::pw_uid), o.uid); }},
    {"gid", "GROUP", "the number or the name of a group", "group shown, in place of the HDF5 file's",
     [](Value v, MountOptions& o) { return assign(parse_owner(v, ::getgrnam, &group::gr_gid), o.gid); }},
    {"umask", "MASK", "an octal number such as 027", "permission bits to remove, octal", set_umask},
    {"fmask", "MASK", "an octal number such as 027", "the same for files only",
     [](Value v, MountOptions& o) { return assign(parse_mask(v), o.file_umask); }},
    {"dmask", "MASK", "an octal number such as 027", "the same for directories only",
     [](Value v, MountOptions& o) { return assign(parse_mask(v), o.directory_umask); }},
    {"cache_size", "SIZE", "a size such as 512M or 1.5G",
     "memory for decoded data; a quarter of memory, up to 1G, by default",
     [](Value v, MountOptions& o) { return assign(parse_bytes(v), o.cache_bytes); }},
    {"threads", "N", "a number from 1 to 1024", "threads that decode; one per processor by default",
     [](Value v, MountOptions& o) { return assign(parse_number(v, 1024U), o.threads); }},
    {"external", "beneath|any|none|DIR[:DIR]",
     "beneath, any, none, or existing directories, with ':' between them",
     "which files the HDF5 file may name: beneath its own directory (default), any, none, or beneath and in "
     "directories; beneath:DIR is both",
     take_external},
    {"policy", "untrusted|trusted|FILE", "untrusted, trusted, or a policy's file (see fsck.h5(8))",
     "show only files that fsck.h5 --policy accepts, and log its warnings; refused: exit code 2, 3 or 4",
     [](Value v, MountOptions& o) { return set_text(v, o.policy_word); }},
    {"swmr", "auto|on|off", "auto, on or off", "follow a file that is being written; auto by default",
     [](Value v, MountOptions& o) { return assign(parse_swmr(v), o.swmr); }},
    {"force", "", "", "mount although a writer seems to have the file open",
     [](Value, MountOptions& o) { return o.force = true; }},
    {"salvage", "[=fill|far|fill:far]", "fill, far or fill:far, or without a value",
     "show what can still be known of a damaged file; what cannot is an error, or with fill the fill value; "
     "a file at a URL, which is then fetched whole, with far only",
     take_salvage},
    {"reload", "", "", "switch to the new file when the mounted one is replaced",
     [](Value, MountOptions& o) { return o.reload = true; }},
    {"survive", "[=SECONDS]", "a number of seconds from 1 to 3600, or without a value",
     "the mount outlives its server: where that is killed or upgraded another one goes on, and open files "
     "stay valid; SECONDS (30) are what an installed program has until it serves",
     take_survive},
    {"max_open", "N", "a number of 1 or more",
     "source files open at once; half of the limit of open files by default",
     [](Value v, MountOptions& o) { return assign(parse_number(v, SIZE_MAX), o.max_open); }},
    {"match", "GLOB", "a pattern such as '*.h5'",
     "of a directory: which files are shown as HDF5, in place of those with a usual extension",
     [](Value v, MountOptions& o) { return set_text(v, o.match); }},
    {"catalogue", "DIR", "a directory of your own, which is made where there is none",
     "of many files: remember there what files hold, so that the next catalogue opens only what changed",
     [](Value v, MountOptions& o) { return set_absolute(v, o.catalogue); }},
    {"join", "AXIS", "time, time:'%Y%m%d', :0, +run, +run:REGEX, +time:'%Y%m%d', +run:@ATTRIBUTE or union",
     "of many files: show them as one too, /.h5/joined, along a dimension (h5mount-joined(7))",
     [](Value v, MountOptions& o) { return take_join(v, &JoinWords::axis, o); }},
    {"join_order", "coordinate|name|given", "coordinate, name or given",
     "with join=: the order of the files, by the values on the axis (default), by name, or as they are named",
     [](Value v, MountOptions& o) { return take_join(v, &JoinWords::order, o); }},
    {"join_conflict", "decode|refuse|first", "decode, refuse or first",
     "with join=: what differs between files is decoded (default), refused, or as in the first file",
     [](Value v, MountOptions& o) { return take_join(v, &JoinWords::conflict, o); }},
    {"join_gap", "fill|refuse", "fill or refuse",
     "with join=: where a file lacks a variable, that has the fill value (default), or is refused",
     [](Value v, MountOptions& o) { return take_join(v, &JoinWords::gap, o); }},
    {"passthrough", "", "", "of a directory: all other files are there as they are",
     [](Value, MountOptions& o) { return o.passthrough = true; }},
    {"timeout", "SECONDS", "a number of seconds from 1 to 3600",
     "of a URL: how long a request may get nothing; 30 by default",
     [](Value v, MountOptions& o) { return assign(parse_timeout(v), o.remote.timeout); }},
    {"validate", "etag|size", "etag or size",
     "of a URL: what tells that the object is the same, its validators (default) or its size alone",
     take_validate},
    {"headers", "FILE", "a file", "of URLs: header fields for hosts, lines of HOST NAME: VALUE",
     [](Value v, MountOptions& o) { return set_absolute(v, o.remote.headers_file); }},
    {"disk_cache", "[=DIR]", "a directory of your own, which is made where there is none",
     "of URLs: keep on disk what came; without DIR in $XDG_CACHE_HOME/h5mount, of root /var/cache/h5mount",
     take_disk_cache},
    {"disk_cache_size", "SIZE", "a size of 1M or more", "of URLs: how much is kept on disk; 10G by default",
     take_disk_cache_size},
    {"s3_endpoint", "URL", "a URL", "of s3://: the server, where it is not Amazon's",
     [](Value v, MountOptions& o) { return set_text(v, o.remote.s3_endpoint); }},
    {"s3_region", "REGION", "a region", "of s3://: the bucket's region; asked for by default",
     [](Value v, MountOptions& o) { return set_text(v, o.remote.s3_region); }},
    {"profile", "NAME", "a profile", "of s3://: the profile of ~/.aws that credentials are of",
     [](Value v, MountOptions& o) { return set_text(v, o.remote.profile); }},
    {"anonymous", "", "", "of s3://: requests are not signed",
     [](Value, MountOptions& o) { return o.remote.anonymous = true; }},
    {"requester_pays", "", "", "of s3://: you pay for the requests",
     [](Value, MountOptions& o) { return o.remote.requester_pays = true; }},
    {"url", "PREFIX", "a URL, or a path",
     "in .h5/references.*: what stands for the directory of the source, as s3://bucket/run/",
     [](Value v, MountOptions& o) { return set_text(v, o.references.url); }},
    {"references", "inline|direct|URL", "inline, direct, or the URL of an h5mount server",
     "in .h5/references.*: chunks that readers cannot take from the file are held inside (default, 64M at "
     "most), their datasets are left out, or they are at the server (h5mount --serve) of the same source",
     take_references},
    {"plugins", "DIR[:DIR]", "existing directories, with ':' between them",
     "where HDF5 filter plugins may be used from, for filters that h5mount lacks",
     [](Value v, MountOptions& o) { return assign(parse_directories(v), o.plugins); }},
    {"log_level", "LEVEL", "error, warning, info or debug", "error, warning (default), info, debug",
     [](Value v, MountOptions& o) { return assign(parse_log_level(v), o.log_level); }},
    {"fsname", "NAME", "a name", "source shown by df and findmnt, in place of the file's path",
     [](Value v, MountOptions& o) { return set_text(v, o.fsname); }},
    {"subtype", "NAME", "a name", "type shown after \"fuse.\"; h5mount by default",
     [](Value v, MountOptions& o) { return set_text(v, o.subtype); }},
    {"max_read", "SIZE", "a size of 4096 bytes or more, such as 128K", "largest read request of the kernel",
     set_max_read},
};

// Options for libfuse, or which it passes to the kernel.
constexpr Value kForLibfuse[] = {"noexec", "exec",  "noatime", "atime",
                                 "sync",   "async", "dirsync", "nosymfollow"};
constexpr Value kForKernel[] = {"context", "fscontext", "defcontext", "rootcontext", "blksize"};

// Options that mount(8) and fstab use for other purposes, or that hold for every mount anyway. `mount -t
// fuse.h5mount` adds `dev`, `suid` and `rw` itself; the mount stays nodev, nosuid and read-only.
constexpr Value kNothingToDo[] = {
    "ro",         "rw",       "dev",        "nodev",      "suid",        "nosuid",        "auto",
    "noauto",     "user",     "nouser",     "users",      "owner",       "group",         "defaults",
    "nofail",     "_netdev",  "relatime",   "norelatime", "strictatime", "nostrictatime", "diratime",
    "nodiratime", "lazytime", "nolazytime", "iversion",   "noiversion",  "mand",          "nomand",
    "silent",     "loud",     "nonempty"};
constexpr Value kNothingToDoWithValue[] = {"comment", "uhelper", "helper"};

bool is_one_of(std::span<const Value> names, Value name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_ignored(Value name, bool has_value) {
  if (name.starts_with("x-") || name.starts_with("X-")) return true;
  return is_one_of(has_value ? std::span<const Value>(kNothingToDoWithValue) : kNothingToDo, name);
}

const Option* find_option(Value name) {
  const auto found = std::ranges::find(kOptions, name, &Option::name);
  return found == std::end(kOptions) ? nullptr : found;
}

// The option as a command line has it: NAME, NAME=VALUE, NAME[=VALUE].
std::string with_form(const Option& option) {
  const bool bare = option.form.empty() || option.form.starts_with('[');
  return fmt::format("{}{}{}", option.name, bare ? "" : "=", option.form);
}

Status take_known(const Option& option, std::optional<Value> value, MountOptions& out) {
  if (option.form.empty() && value) return fail(bad(fmt::format("option {} takes no value", option.name)));
  const bool optional = option.form.starts_with('[');
  if (!option.form.empty() && (value ? value->empty() : !optional)) {
    return fail(bad(fmt::format("option {} needs a value: {}", option.name, with_form(option))));
  }
  if (option.take(value.value_or(Value{}), out)) return {};
  return fail(bad(fmt::format("{}={}: must be {}", option.name, escape_for_log(*value), option.must_be)));
}

Status take_option(Value name, std::optional<Value> value, bool sloppy, MountOptions& out) {
  if (name == "remount")
    return fail(bad("an h5mount file system cannot be remounted: umount and mount again"));
  if (name == "io_uring") {  // taken before; somebody's fstab has it
    log(LogLevel::Warning, "option io_uring does nothing any more: requests come from /dev/fuse");
    return {};
  }
  if (const Option* known = find_option(name)) return take_known(*known, value, out);
  if (value ? is_one_of(kForKernel, name) : is_one_of(kForLibfuse, name)) {
    return pass_on(value ? fmt::format("{}={}", name, *value) : std::string(name), out), Status{};
  }
  if (sloppy || is_ignored(name, value.has_value())) return {};
  const std::string meant = meant_option(name);
  return fail(bad(fmt::format("unknown option '{}{}'{}", escape_for_log(name), value ? "=" : "",
                              meant.empty() ? " (see h5mount --help)" : ": did you mean " + meant + "?")));
}

}  // namespace

std::vector<std::string> split_options(std::string_view text) {
  std::vector<std::string> out;
  std::string current;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '\\')) {
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

Result<MountOptions> parse_mount_options(const std::vector<std::string>& texts, bool sloppy) {
  MountOptions out;
  for (const std::string& text : texts) {
    for (const std::string& option : split_options(text)) {
      const std::size_t equals = option.find('=');
      const Value name = Value(option).substr(0, equals);
      std::optional<Value> value;
      if (equals != std::string::npos) value = Value(option).substr(equals + 1);
      H5_TRY(take_option(name, value, sloppy, out));
    }
  }
  if (out.join_words) {
    H5_ASSIGN(out.join, join_options(*out.join_words));
  }
  if (out.policy_word.empty()) return out;
  auto policy = check::read_policy(out.policy_word);
  if (!policy) return fail(bad(policy.error().text()));
  if (out.salvage != SalvageMode::Off)
    return fail(bad("policy= refuses what is damaged, so salvage does not go with it"));
  out.policy = std::make_shared<const check::Policy>(*std::move(policy));
  return out;
}

std::vector<std::string_view> mount_option_names() {
  std::vector<std::string_view> out;
  for (const Option& option : kOptions) out.push_back(option.name);
  return out;
}

std::string meant_option(std::string_view word) {
  const Option* const meant = find_option(suggestion(word, mount_option_names()));
  return meant == nullptr ? std::string()
                          : fmt::format("{}{}", meant->name,
                                        meant->form.empty() || meant->form.starts_with('[') ? "" : "=");
}

std::string mount_options_help() {
  constexpr std::size_t kColumns = 80;
  std::string out, line;
  for (const Option& option : kOptions) {
    const std::string form = with_form(option);
    if (line.size() + form.size() + 3 > kColumns) out += std::exchange(line, {}) + "\n";
    line += (line.empty() ? "  " : " ") + form + (&option == std::end(kOptions) - 1 ? "" : ",");
  }
  return out + line + "\n";
}

std::string mount_option_help(std::string_view name) {
  const Option* const option = find_option(name);
  if (option == nullptr) return {};
  const std::string must_be =
      option->must_be.empty() ? "" : fmt::format("\n  Its value is {}.", option->must_be);
  return fmt::format("-o {}\n  {}{}\n", with_form(*option), option->help, must_be);
}

}  // namespace h5mount::cli
