#include "command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "help_text.h"
#include "options.h"

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

// Two words are always SOURCE and MOUNTPOINT.
Status check_not_swapped(const std::string& source, const std::string& mountpoint) {
  std::error_code none;
  if (!std::filesystem::is_directory(source, none) || !std::filesystem::is_regular_file(mountpoint, none))
    return {};
  return fail(usage_error(source + " is a directory and " + mountpoint +
                          " a file: swapped? h5mount FILE MOUNTPOINT"));
}

// `helper`: true for the helper of mount(8), which names both words.
Parsed finish_mount(const Arguments& arguments, bool helper) {
  MountCommand command = arguments.mount;
  command.foreground = command.foreground || command.debug;
  H5_ASSIGN(command.options, parse_mount_options(arguments.of_mounts, arguments.sloppy));
  std::vector<std::string> named = arguments.operands;
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
  H5_ASSIGN(command.sources, read_source_arguments(named));
  return command;
}

// FILE is in the caller's mount namespace, MOUNTPOINT and fusermount3 in the other one: only a program
// started in that namespace finds all of them.
Error other_namespace(const std::string& name) {
  const bool number = name.find_first_not_of("0123456789") == std::string::npos;
  const std::string target = number ? "--target " + name + " --mount" : "--mount=" + escape_for_log(name);
  return usage_error("-N is not supported: nsenter " + target + " h5mount FILE MOUNTPOINT mounts there");
}

// mount(8) calls: mount.h5 FILE MOUNTPOINT [-sfnv] [-N namespace] [-o options] [-t type.subtype]
constexpr ProgramOption kMountHelper[] = {
    {"h", "--help", Takes::Nothing, kMount, "", "this text", set<&Arguments::help>},
    {"o", "", Takes::Values, kMount, "OPT,...", "mount options; may be repeated", set<&Arguments::of_mounts>},
    {"s", "", Takes::Nothing, kMount, "", "ignore unknown options", set<&Arguments::sloppy>},
    {"f", "", Takes::Nothing, kMount, "", "check, but do not mount",
     set<&Arguments::mount, &MountCommand::check_only>},
    {"n", "", Takes::Nothing, kMount, "", "ignored", set<&Arguments::ignored>},
    {"v", "", Takes::Nothing, kMount, "", "be verbose", set<&Arguments::verbose>},
    {"N", "", Takes::Value, kMount, "NAMESPACE", "refused: nsenter(1) mounts in another namespace",
     set<&Arguments::name_space>},
    {"t", "", Takes::Value, kMount, "TYPE", "ignored", set<&Arguments::unused>},
    {"V", "--version", Takes::Nothing, kMount, "", "its version", set<&Arguments::version>},
};

// umount(8) calls: umount.fuse.h5mount MOUNTPOINT [-flnrv] [-N namespace] [-t type.subtype]
constexpr ProgramOption kUmountHelper[] = {
    {"h", "--help", Takes::Nothing, kMount, "", "this text", set<&Arguments::help>},
    {"f", "", Takes::Nothing, kMount, "", "let pending requests fail",
     set<&Arguments::unmount, &UnmountCommand::force>},
    {"l", "", Takes::Nothing, kMount, "", "detach it now, end it after its last use",
     set<&Arguments::unmount, &UnmountCommand::lazy>},
    {"nrv", "", Takes::Nothing, kMount, "", "ignored", set<&Arguments::ignored>},
    {"N", "", Takes::Value, kMount, "NAMESPACE", "the mount namespace",
     set<&Arguments::unmount, &UnmountCommand::name_space>},
    {"t", "", Takes::Value, kMount, "TYPE", "ignored", set<&Arguments::unused>},
};

constexpr std::size_t kHelperWidth = 22;

Parsed parse_mount_helper(int count, const char* const* words) {
  H5_ASSIGN(const Arguments arguments, read_words(kMountHelper, count, words));
  if (arguments.help)
    return TextOutput{
        "mount(8)'s helper for HDF5 files: see h5mount --help.\n\n"
        "Usage: mount.h5 SOURCE MOUNTPOINT [-o OPT,...]\n" +
        option_lines(kMountHelper, kHelperWidth)};
  if (arguments.version) return TextOutput{"mount.h5 " H5MOUNT_VERSION "\n"};
  H5_TRY(check_words(kMountHelper, arguments, kMount));
  if (!arguments.name_space.empty()) return fail(other_namespace(arguments.name_space));
  Parsed parsed = finish_mount(arguments, true);
  if (parsed && arguments.verbose)
    if (auto& level = std::get<MountCommand>(*parsed).options.log_level; !level) level = LogLevel::Info;
  return parsed;
}

Parsed parse_umount_helper(int count, const char* const* words) {
  H5_ASSIGN(Arguments arguments, read_words(kUmountHelper, count, words));
  if (arguments.help)
    return TextOutput{
        "umount(8)'s helper for HDF5 files: returns when the file is no longer open.\n\n"
        "Usage: umount.fuse.h5mount MOUNTPOINT\n" +
        option_lines(kUmountHelper, kHelperWidth)};
  H5_TRY(check_words(kUmountHelper, arguments, kMount));
  if (arguments.operands.size() != 1) return fail(usage_error("usage: umount.fuse.h5mount MOUNTPOINT [-fl]"));
  arguments.unmount.mountpoint = absolute_directory(arguments.operands.front());
  return std::move(arguments.unmount);
}

Parsed finish_front(const Arguments& arguments) {
  FrontCommand command = arguments.front;
  const bool copies = command.kind == FrontCommand::Kind::Copy;
  const bool names_paths =
      copies || command.kind == FrontCommand::Kind::Cat || command.kind == FrontCommand::Kind::Stat;
  const bool compares = command.kind == FrontCommand::Kind::Diff;
  const std::size_t least = copies ? 3 : names_paths || compares ? 2 : 1;
  const std::size_t most = copies ? least : compares ? least + 2 : arguments.operands.size();
  if (arguments.operands.size() < least || arguments.operands.size() > most) {
    const auto of = [&](const ProgramOption* option) {
      return option->commands == bit_of(command.kind) && !option->form.empty();
    };
    const ProgramOption& named = **std::ranges::find_if(arguments.given, of);
    return fail(usage_error(fmt::format("usage: h5mount {} {}{}", named.name, named.form, kSeeHelp)));
  }
  H5_ASSIGN(command.options, parse_mount_options(arguments.of_mounts, false));
  H5_ASSIGN(command.sources, read_source_arguments({arguments.operands.front()}));
  if (compares) {
    H5_ASSIGN(command.other, read_source_arguments({arguments.operands[1]}));
  }
  command.paths.assign(arguments.operands.begin() + (compares ? 2 : 1), arguments.operands.end());
  if (copies) {
    command.destination = absolute_directory(command.paths.back());
    command.paths.pop_back();
  }
  return command;
}

constexpr const char* kServeUsage =
    "usage: h5mount --serve [ADDRESS:]PORT|unix:PATH [--token|--token-file=FILE] [--cors=ORIGIN] "
    "[--s3 [--s3-key-file=FILE|--anonymous] [--s3-host=NAME]] SOURCE...";

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

Parsed finish_serve(const Arguments& arguments) {
  ServeCommand command = arguments.serve;
  H5_TRY(check_s3_words(command));
  if (arguments.operands.empty()) return fail(usage_error(std::string(kServeUsage) + kSeeHelp));
  if (command.makes_token && !command.token_file.empty())
    return fail(usage_error("--token makes a token, --token-file=FILE reads one: only one of them"));
  H5_ASSIGN(command.place, parse_listen_address(arguments.listen));
  H5_TRY(check_origin(command.cors_origin));
  H5_ASSIGN(command.options, parse_mount_options(arguments.of_mounts, false));
  H5_ASSIGN(command.sources, read_source_arguments(arguments.operands));
  return command;
}

Parsed parse_h5mount(int count, const char* const* words) {
  const std::span<const ProgramOption> options = program_options();
  H5_ASSIGN(const Arguments arguments, read_words(options, count, words));
  if (!arguments.help_about.empty()) {
    H5_ASSIGN(std::string about, help_about(arguments.help_about));
    return TextOutput{std::move(about)};
  }
  if (arguments.help) return TextOutput{help_text()};
  if (arguments.version) return TextOutput{version_text()};
  const unsigned command = arguments.serves        ? kServe
                           : arguments.fronts != 0 ? bit_of(arguments.front.kind)
                                                   : kMount;
  H5_TRY(check_words(options, arguments, command));
  return arguments.serves        ? finish_serve(arguments)
         : arguments.fronts != 0 ? finish_front(arguments)
                                 : finish_mount(arguments, false);
}

}  // namespace

Parsed parse_command_line(int count, const char* const* words) {
  const std::string_view name = count > 0 ? words[0] : "";
  const std::string_view last = name.substr(name.rfind('/') + 1);
  if (last.starts_with("umount.")) return parse_umount_helper(count, words);
  if (last.starts_with("mount.")) return parse_mount_helper(count, words);
  return parse_h5mount(count, words);
}

}  // namespace h5mount::cli
