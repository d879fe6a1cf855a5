#include "command_line.h"

#include <CLI/CLI.hpp>
#include <filesystem>

namespace h5mount::cli {
namespace {

using Parsed = Result<std::variant<MountCommand, Told>>;

constexpr const char* kOptionsHelp = R"(
Options after -o, separated by commas:
  allow_other           let other users in (then external= is none unless said)
  uid=N gid=N           owner and group shown, instead of the HDF5 file's
  umask=M fmask=M dmask=M   permission bits taken away (octal): all, files, directories
  cache_size=BYTES      memory for decoded blocks, with K, M or G; a share of memory by default
  threads=N             threads that decode; one a processor by default
  external=beneath|any|none
                        which files the HDF5 file may name: beneath its own directory (default), any, none
  swmr=auto|on|off      follow a file that is being written
  force                 mount although a writer seems to have the file open
  plugins=DIR[:DIR]     where HDF5 filter plugins may be used from, for filters that h5mount lacks
  log_level=LEVEL       error, warning (default), info, debug
  fsname= subtype= max_read= auto_unmount and what mount(8) and fstab pass are taken as well

The mount is read-only. End it with: umount MOUNTPOINT, or fusermount3 -u MOUNTPOINT.
Exit codes: 0 mounted, 1 usage, 2 FILE is not a sound HDF5 file, 32 the mount failed.)";

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).lexically_normal().string(); }

// /mnt/x/ and /mnt/x are one place; the kernel's lists have it without the stroke.
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
  app.add_option("FILE", words.file, "HDF5 file, or a file set by libhdf5's name for it (run-%05d.h5)");
  app.add_option("MOUNTPOINT", words.mountpoint, "an existing directory");
  app.add_option("-o", words.options, "mount options; may be repeated")->type_name("OPT,...")->allow_extra_args(false);
}

Parsed finish(const Words& words, MountCommand command) {
  if (words.file.empty() || words.mountpoint.empty()) {
    return fail(Error(ErrorCode::InvalidValue, "usage: h5mount [-o opt,...] FILE MOUNTPOINT (h5mount --help tells more)"));
  }
  H5_ASSIGN(command.options, parse_mount_options(words.options, words.sloppy));
  command.file = absolute(words.file);
  command.mountpoint = absolute_directory(words.mountpoint);
  return command;
}

Parsed parse_with(CLI::App& app, int count, const char* const* words, std::optional<Parsed>& told) {
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    told = Told{app.help()};
  } catch (const CLI::CallForVersion& version) {
    told = Told{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& trouble) {
    return fail(Error(ErrorCode::InvalidValue, std::string(trouble.what()) + " (h5mount --help tells more)"));
  }
  return Told{};
}

Parsed parse_h5mount(int count, const char* const* words) {
  CLI::App app("Shows an HDF5 file as a directory tree, read-only.", "h5mount");
  Words said;
  MountCommand command;
  add_common(app, said);
  app.add_flag("-f", command.foreground, "stay in the foreground");
  app.add_flag("-d", command.debug, "tell every request on stderr (and stay in the foreground)");
  app.add_flag("-s", command.single_thread, "serve on one thread");
  app.set_version_flag("-V,--version", std::string("h5mount " H5MOUNT_VERSION));
  app.footer(kOptionsHelp);
  std::optional<Parsed> told;
  H5_TRY(parse_with(app, count, words, told));
  if (told) return *told;
  command.foreground = command.foreground || command.debug;
  return finish(said, std::move(command));
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
  app.add_flag("-v", verbose, "say more");
  app.add_option("-N", name_space, "ignored");
  app.add_option("-t", type, "ignored");
  app.set_version_flag("-V,--version", std::string("mount.h5 " H5MOUNT_VERSION));
  std::optional<Parsed> told;
  H5_TRY(parse_with(app, count, words, told));
  if (told) return *told;
  Parsed parsed = finish(said, std::move(command));
  if (parsed && verbose) {
    if (auto* mount = std::get_if<MountCommand>(&*parsed); !mount->options.log_level) {
      mount->options.log_level = LogLevel::Info;
    }
  }
  return parsed;
}

}  // namespace

Parsed parse_command_line(int count, const char* const* words) {
  const std::string_view name = count > 0 ? words[0] : "";
  const bool helper = name.substr(name.rfind('/') + 1).starts_with("mount.");
  return helper ? parse_mount_helper(count, words) : parse_h5mount(count, words);
}

}  // namespace h5mount::cli
