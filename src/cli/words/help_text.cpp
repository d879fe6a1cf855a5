#include "help_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/deflate.h"
#include "h5mount/filter/filter.h"
#include "h5mount/fuse/session.h"
#include "mount_options.h"
#include "options.h"

namespace h5mount::cli {

std::string help_text() {
  constexpr std::size_t kFlagWidth = 22, kCommandWidth = 32;
  const std::span<const ProgramOption> options = program_options();
  const auto commands = std::ranges::find_if(options, &std::string_view::empty, &ProgramOption::letters);
  const auto flags = static_cast<std::size_t>(commands - options.begin());
  return "Shows an HDF5 file as a directory tree, read-only.\n"
         "\n"
         "Usage: h5mount [-o OPT,...] [-f] [-d] [-s] SOURCE... [MOUNTPOINT]\n"
         "  SOURCE      an HDF5 file (FILE), https:// or s3://, a set (run-%05d.h5), a\n"
         "              directory, or @LIST, which names sources; several: side by side\n"
         "  MOUNTPOINT  an existing directory, or /dev/fd/N: a /dev/fuse mounted already;\n"
         "              made in this directory where only one SOURCE is named\n" +
         option_lines(options.first(flags), kFlagWidth) +
         "\n"
         "Without a mount, in any container and as any user (PATH: /.h5/... as well):\n" +
         option_lines(options.subspan(flags), kCommandWidth) +
         "\n"
         "Options after -o, separated by commas:\n" +
         mount_options_help() +
         "\n"
         "What mount(8) and fstab pass (defaults, nofail, _netdev...) is accepted as well.\n"
         "SIZE is a number of bytes, or one with K, M, G or T: 512M, 1.5G.\n"
         "End a mount with: umount MOUNTPOINT, or fusermount3 -u MOUNTPOINT.\n"
         "Exit codes: 0 mounted, done; 1 usage, or FILE is missing or cannot be read, or\n"
         "a part of it; 2 FILE is not sound HDF5 (2 to 4: policy=); 32 the mount failed.\n"
         "More: man h5mount, man h5mount-views, man h5mount-serve, h5mount-remote, fsck.h5\n";
}

Result<std::string> help_about(std::string_view name) {
  for (const std::string_view dashes : {"", "-", "--"}) {
    const ProgramOption* const option =
        find_program_option(program_options(), fmt::format("{}{}", dashes, name));
    if (option == nullptr || (option->about.empty() && option->more.empty())) continue;
    std::string out =
        fmt::format("{}{}{}\n", names_of(*option), option->form.find('=') < 2 ? "" : " ", option->form);
    for (const std::string_view part : {option->about, option->more})
      if (!part.empty()) out += fmt::format("  {}\n", part);
    return out;
  }
  if (name.starts_with("-o"))
    name.remove_prefix(std::min<std::size_t>(name.size(), name.find_first_not_of("-o ")));
  if (std::string about = mount_option_help(name.substr(0, name.find('='))); !about.empty()) return about;
  const std::string meant = meant_option(name);
  return fail(Error(ErrorCode::InvalidValue,
                    fmt::format("--help={}: there is no such option{}", escape_for_log(name),
                                meant.empty() ? "; --help names all" : ": did you mean " + meant + "?")));
}

std::string version_text() {
  std::string built_in, left_out;
  for (const filter::FilterInfo& info : filter::known_filters()) {
    if (info.available) built_in += fmt::format(" {}", info.name);
    if (info.missing_hint.contains("at build time")) left_out += fmt::format(" {}", info.name);
  }
  return fmt::format("h5mount " H5MOUNT_VERSION "\n{}\nfilters:{}\ndeflate: {}\n{}", fuse::library_version(),
                     built_in, deflate_library(),
                     left_out.empty() ? "" : fmt::format("left out:{}\n", left_out));
}

}  // namespace h5mount::cli
