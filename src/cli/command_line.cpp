#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "help_text.h"
#include "near_miss.h"

namespace h5mount::cli {
namespace {

using Parsed = Result<Command>;

constexpr const char* kSeeHelp = " (see h5mount --help)";

Error usage_error(std::string text) {
  return {ErrorCode::InvalidValue, std::move(text)};
}

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

// The kernel's lists show /mnt/x/ as /mnt/x.
std::string absolute_directory(const std::string& path) {
  std::string out = absolute(path);
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

struct Words {
  std::string file, mountpoint;
  std::vector<std::string> options;
  bool sloppy = false;
};

void add_common(CLI::App& app, Words& words) {
  app.allow_extras();  // the message about them is our own
  app.add_option(
      "SOURCE", words.file,
      "HDF5 file, a URL, a file set by libhdf5's name for it (run-%05d.h5), a directory of files, or @FILE, "
      "which names sources, a line each; several stand side by side");
  app.add_option("MOUNTPOINT", words.mountpoint,
                 "an existing directory; without it one is made here, printed, and removed at the end");
  app.add_option("-o", words.options, "mount options; may be repeated")
      ->type_name("OPT,...")
      ->allow_extra_args(false);
}

// The error for a word that begins with '-' and is not an option; often it is a mount option.
Error unknown_option(const std::string& word) {
  const std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  const std::string bare = name.substr(0, name.find('='));
  const std::string meant = bare.size() > 1 ? meant_option(bare) : std::string();
  const std::string shown = "unknown option " + escape_for_log(word);
  static constexpr std::string_view kLongNames[] = {
      "foreground", "debug", "single-thread", "help",    "version",  "list", "cat",
      "stat",       "text",  "tar",           "copy",    "serve",    "cors", "token",
      "token-file", "s3",    "s3-key-file",   "s3-host", "anonymous"};
  const std::string_view flag = bare.size() > 1 ? near_miss(bare, kLongNames) : std::string_view();
  if (!flag.empty()) return usage_error(fmt::format("{}: did you mean --{}?", shown, flag));
  return usage_error(meant.empty() ? shown + kSeeHelp
                                   : shown + ": options of the mount follow -o: -o " + meant);
}

// The words that are not options: before a "--" those that do not look like one, and all words after it.
Result<std::vector<std::string>> path_words(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool names_only = false;
  for (const std::string& word : words) {
    if (!names_only && word == "--") {
      names_only = true;
      continue;
    }
    if (!names_only && word.size() > 1 && word.starts_with('-')) return fail(unknown_option(word));
    out.push_back(word);
  }
  return out;
}

// Two words are always SOURCE and MOUNTPOINT.
Status check_not_swapped(const std::string& source, const std::string& mountpoint) {
  std::error_code none;
  if (!std::filesystem::is_directory(source, none) || !std::filesystem::is_regular_file(mountpoint, none))
    return {};
  return fail(usage_error(source + " is a directory and " + mountpoint +
                          " a file: swapped? h5mount FILE MOUNTPOINT"));
}

// `helper`: true for the helper of mount(8), which names both words.
Parsed finish(const CLI::App& app, const Words& words, MountCommand command, bool helper) {
  H5_ASSIGN(command.options, parse_mount_options(words.options, words.sloppy));
  std::vector<std::string> named;
  for (const std::string& word : {words.file, words.mountpoint})
    if (!word.empty()) named.push_back(word);
  H5_ASSIGN(const auto more, path_words(app.remaining()));
  named.insert(named.end(), more.begin(), more.end());
  if (named.empty())
    return fail(usage_error(std::string("usage: h5mount [-o opt,...] SOURCE... MOUNTPOINT") + kSeeHelp));
  if (helper && named.size() != 2)
    return fail(usage_error(std::string("usage: mount.h5 SOURCE MOUNTPOINT [-o opt,...]") + kSeeHelp));
  command.makes_mountpoint = named.size() == 1;
  if (command.makes_mountpoint) {
    H5_ASSIGN(command.mountpoint, automatic_mountpoint(named));
  } else {
    // A server that goes on with a mount would wait for itself.
    if (!command.options.survive) H5_TRY(check_not_swapped(named.front(), named.back()));
    command.mountpoint = absolute_directory(named.back());
    named.pop_back();
  }
  H5_ASSIGN(command.sources, read_source_words(named));
  return command;
}

Parsed parse_with(CLI::App& app, int count, const char* const* words, std::optional<Parsed>& output) {
  for (CLI::Option* option : app.get_options())
    if (option->get_expected_max() == 0) option->disable_flag_override();  // --foreground=yes
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    output = TextOutput{app.get_name() == "h5mount" ? help_text() : app.help() + "\n"};
  } catch (const CLI::CallForVersion& version) {
    const std::string said = version.what();
    output = TextOutput{said.ends_with('\n') ? said : said + "\n"};
  } catch (const CLI::ParseError& trouble) {
    const std::string said = trouble.what();
    if (said.ends_with("disallowed flag override"))
      return fail(usage_error("--" + said.substr(0, said.find(' ')) + " takes no value" + kSeeHelp));
    return fail(usage_error(said.starts_with("-o:") ? "-o needs options after it: -o NAME[=VALUE],…"
                                                    : said + kSeeHelp));
  }
  return TextOutput{};
}

Parsed parse_h5mount(int count, const char* const* words) {
  CLI::App app("Shows an HDF5 file as a directory tree, read-only.", "h5mount");
  Words said;
  MountCommand command;
  add_common(app, said);
  app.add_flag("-f,--foreground", command.foreground, "stay in the foreground");
  app.add_flag("-d,--debug", command.debug, "log every request on stderr (and stay in the foreground)");
  app.add_flag("-s,--single-thread", command.single_thread, "serve on one thread");
  app.set_version_flag("-V,--version", version_text());
  std::optional<Parsed> output;
  H5_TRY(parse_with(app, count, words, output));
  if (output) return *output;
  command.foreground = command.foreground || command.debug;
  return finish(app, said, std::move(command), false);
}

// FILE is in the caller's mount namespace, MOUNTPOINT and fusermount3 in the other one: only a program
// started in that namespace finds all of them.
Error other_namespace(const std::string& name) {
  const bool number = name.find_first_not_of("0123456789") == std::string::npos;
  const std::string target = number ? "--target " + name + " --mount" : "--mount=" + escape_for_log(name);
  return usage_error("-N is not supported: nsenter " + target + " h5mount FILE MOUNTPOINT mounts there");
}

// mount(8) calls: mount.h5 FILE MOUNTPOINT [-sfnv] [-N namespace] [-o options] [-t type.subtype]
Parsed parse_mount_helper(int count, const char* const* words) {
  CLI::App app("mount(8)'s helper for HDF5 files: see h5mount --help.", "mount.h5");
  Words said;
  MountCommand command;
  bool no_mtab = false, verbose = false;
  std::string type, name_space;
  add_common(app, said);
  app.add_flag("-s", said.sloppy, "ignore unknown options");
  app.add_flag("-f", command.check_only, "check, but do not mount");
  app.add_flag("-n", no_mtab, "ignored");
  app.add_flag("-v", verbose, "be verbose");
  app.add_option("-N", name_space, "refused: nsenter(1) mounts in another namespace");
  app.add_option("-t", type, "ignored");
  app.set_version_flag("-V,--version", std::string("mount.h5 " H5MOUNT_VERSION));
  std::optional<Parsed> output;
  H5_TRY(parse_with(app, count, words, output));
  if (output) return *output;
  if (!name_space.empty()) return fail(other_namespace(name_space));
  Parsed parsed = finish(app, said, std::move(command), true);
  if (parsed && verbose) {
    if (auto* mount = std::get_if<MountCommand>(&*parsed); !mount->options.log_level) {
      mount->options.log_level = LogLevel::Info;
    }
  }
  return parsed;
}

// umount(8) calls: umount.fuse.h5mount MOUNTPOINT [-flnrv] [-N namespace] [-t type.subtype]
Parsed parse_umount_helper(int count, const char* const* words) {
  CLI::App app("umount(8)'s helper for HDF5 files: returns when the file is no longer open.",
               "umount.fuse.h5mount");
  UnmountCommand command;
  bool no_mtab = false, verbose = false, read_only = false;
  std::string type;
  app.add_option("MOUNTPOINT", command.mountpoint, "the mount to end")->required();
  app.add_flag("-f", command.force, "let pending requests fail");
  app.add_flag("-l", command.lazy, "detach it now, end it after its last use");
  app.add_flag("-n", no_mtab, "ignored");
  app.add_flag("-r", read_only, "ignored");
  app.add_flag("-v", verbose, "ignored");
  app.add_option("-N", command.name_space, "the mount namespace");
  app.add_option("-t", type, "ignored");
  std::optional<Parsed> output;
  H5_TRY(parse_with(app, count, words, output));
  if (output) return *output;
  command.mountpoint = absolute_directory(command.mountpoint);
  return command;
}

// ---- commands without a mount

struct FrontName {
  const char* option;
  FrontCommand::Kind kind;
  const char* usage;
  std::size_t least_paths;
};
constexpr FrontName kFrontNames[] = {
    {"--list", FrontCommand::Kind::List, "[-l] [-R] SOURCE [PATH...]", 0},
    {"--cat", FrontCommand::Kind::Cat, "SOURCE PATH...", 1},
    {"--stat", FrontCommand::Kind::Stat, "SOURCE PATH...", 1},
    {"--text", FrontCommand::Kind::Text, "SOURCE [PATH...]", 0},
    {"--tar", FrontCommand::Kind::Tar, "SOURCE [PATH...]", 0},
    {"--copy", FrontCommand::Kind::Copy, "[--metadata] SOURCE PATH DESTINATION", 2},
};

// The command that the words before a "--" name; null: a mount.
const FrontName* find_front_name(int count, const char* const* words) {
  for (int i = 1; i < count && words[i] != std::string_view("--"); ++i) {
    for (const FrontName& name : kFrontNames)
      if (words[i] == std::string_view(name.option)) return &name;
  }
  return nullptr;
}

Parsed finish_front(const FrontName& name, FrontCommand command, const Words& said) {
  const bool too_many = command.kind == FrontCommand::Kind::Copy && command.paths.size() > 2;
  if (said.file.empty() || command.paths.size() < name.least_paths || too_many)
    return fail(usage_error(fmt::format("usage: h5mount {} {}{}", name.option, name.usage, kSeeHelp)));
  H5_ASSIGN(command.options, parse_mount_options(said.options, false));
  H5_ASSIGN(command.sources, read_source_words({said.file}));
  if (command.kind == FrontCommand::Kind::Copy) {
    command.destination = absolute_directory(command.paths.back());
    command.paths.pop_back();
  }
  return command;
}

Parsed parse_front(const FrontName& name, int count, const char* const* words) {
  CLI::App app("Shows what a mount of an HDF5 file would, without one.", "h5mount");
  Words said;
  FrontCommand command;
  command.kind = name.kind;
  app.allow_extras();  // CLI11 would split PATHs in brackets, were they an option of several words
  app.add_option("FILE", said.file);
  app.add_option("-o", said.options)->allow_extra_args(false);
  bool named = false;
  app.add_flag(name.option, named);
  if (command.kind == FrontCommand::Kind::Copy) app.add_flag("--metadata", command.metadata);
  if (command.kind == FrontCommand::Kind::List) {
    app.add_flag("-l", command.details);
    app.add_flag("-R", command.recursive);
  }
  std::optional<Parsed> output;
  H5_TRY(parse_with(app, count, words, output));
  if (output) return *output;
  H5_ASSIGN(command.paths, path_words(app.remaining()));
  return finish_front(name, std::move(command), said);
}

bool asks_to_serve(int count, const char* const* words) {
  for (int i = 1; i < count && words[i] != std::string_view("--"); ++i) {
    const std::string_view word = words[i];
    if (word == "--serve" || word.starts_with("--serve=")) return true;
  }
  return false;
}

constexpr const char* kServeUsage =
    "usage: h5mount --serve [ADDRESS:]PORT|unix:PATH [--token|--token-file=FILE] [--cors=ORIGIN] "
    "[--s3 [--s3-key-file=FILE|--anonymous] [--s3-host=NAME]] SOURCE...";

// ps shows the words of a command line to all users, so the token is not repeated in the message either.
Status check_token_words(int count, const char* const* words) {
  for (int i = 1; i < count && words[i] != std::string_view("--"); ++i) {
    if (std::string_view(words[i]).starts_with("--token="))
      return fail(
          usage_error("--token takes no value, which other users would see: --token-file=FILE reads one"));
  }
  return {};
}

// A bucket's readers sign their requests; they have no token, and no pages.
Status check_s3_words(const ServeCommand& command) {
  const bool of_s3 = command.anonymous || !command.s3_key_file.empty() || !command.s3_host.empty();
  if (of_s3 && !command.s3)
    return fail(usage_error("--s3-key-file, --s3-host and --anonymous are options of --s3"));
  if (command.s3 && (command.makes_token || !command.token_file.empty()))
    return fail(usage_error("with --s3 there is no token: --s3-key-file=FILE names who may read"));
  if (command.s3 && !command.cors_origin.empty()) return fail(usage_error("--s3 has no --cors"));
  if (command.anonymous && !command.s3_key_file.empty())
    return fail(usage_error("--anonymous lets everybody read, --s3-key-file=FILE nobody else: one of them"));
  return {};
}

Parsed parse_serve(int count, const char* const* words) {
  H5_TRY(check_token_words(count, words));
  CLI::App app("Serves what a mount of HDF5 files would show over HTTP, read-only.", "h5mount");
  ServeCommand command;
  std::vector<std::string> option_words;
  std::string listen;
  app.allow_extras();
  app.add_option("--serve", listen)->type_name("[ADDRESS:]PORT|unix:PATH");
  app.add_flag("--token", command.makes_token);
  app.add_option("--token-file", command.token_file)->type_name("FILE");
  app.add_option("--cors", command.cors_origin)->type_name("ORIGIN");
  app.add_flag("--s3", command.s3);
  app.add_option("--s3-key-file", command.s3_key_file)->type_name("FILE");
  app.add_option("--s3-host", command.s3_host)->type_name("NAME");
  app.add_flag("--anonymous", command.anonymous);
  app.add_option("-o", option_words)->allow_extra_args(false);
  std::optional<Parsed> output;
  H5_TRY(parse_with(app, count, words, output));
  if (output) return *output;
  H5_TRY(check_s3_words(command));
  H5_ASSIGN(const auto named, path_words(app.remaining()));
  if (named.empty()) return fail(usage_error(std::string(kServeUsage) + kSeeHelp));
  if (command.makes_token && !command.token_file.empty())
    return fail(usage_error("--token makes a token, --token-file=FILE reads one: only one of them"));
  H5_ASSIGN(command.place, parse_listen_words(listen));
  H5_TRY(check_origin(command.cors_origin));
  H5_ASSIGN(command.options, parse_mount_options(option_words, false));
  H5_ASSIGN(command.sources, read_source_words(named));
  return command;
}

}  // namespace

Parsed parse_command_line(int count, const char* const* words) {
  const std::string_view name = count > 0 ? words[0] : "";
  const std::string_view last = name.substr(name.rfind('/') + 1);
  if (last.starts_with("umount.")) return parse_umount_helper(count, words);
  if (last.starts_with("mount.")) return parse_mount_helper(count, words);
  for (int i = 1; i < count && words[i] != std::string_view("--"); ++i) {
    static constexpr std::string_view kHelpAbout = "--help=";
    if (const std::string_view word = words[i]; word.starts_with(kHelpAbout)) {
      H5_ASSIGN(std::string about, help_about(word.substr(kHelpAbout.size())));
      return TextOutput{std::move(about)};
    }
  }
  if (asks_to_serve(count, words)) return parse_serve(count, words);
  const FrontName* const front = find_front_name(count, words);
  return front != nullptr ? parse_front(*front, count, words) : parse_h5mount(count, words);
}

}  // namespace h5mount::cli
