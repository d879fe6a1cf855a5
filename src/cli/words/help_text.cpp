#include "help_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "h5mount/base/deflate.h"
#include "h5mount/filter/filter.h"
#include "h5mount/fuse/session.h"
#include "mount_options.h"
#include "near_miss.h"

namespace h5mount::cli {
namespace {

struct Topic {
  std::string_view names;  // separated by ", "
  std::string_view form;
  std::string_view line;  // for the screen
  std::string_view more;  // for --help=NAME
};

constexpr Topic kFlags[] = {
    {"-o", "OPT,...", "mount options, named below; may be repeated",
     "--help=NAME tells what the option NAME after -o is and takes."},
    {"-f, --foreground", "", "stay in the foreground", ""},
    {"-d, --debug", "", "log every request on stderr, in the foreground", ""},
    {"-s, --single-thread", "", "serve on one thread", ""},
    {"-h, --help", "[=NAME]", "this text, or what the option or command NAME is", ""},
    {"-V, --version", "", "versions of h5mount, libfuse and kernel; filters", ""},
};
constexpr Topic kCommands[] = {
    {"--list", "[-l] [-R] SOURCE [PATH...]", "names; -l more, -R all below",
     "-l tells what each is, -R lists all that is below, -lR with all attributes."},
    {"--cat", "SOURCE PATH...", "bytes", "Bytes on standard output, decoded on all processors."},
    {"--stat", "SOURCE PATH...", "a JSON line each", "Type, size, links and every attribute."},
    {"--text", "SOURCE [PATH...]", "one text to compare files by",
     "Structure, attributes, and of each dataset a digest and its first values: for diff, and as git's "
     "textconv."},
    {"--tar", "SOURCE [PATH...]", "a pax archive", "tar --xattrs -x unpacks what cp -a of a mount gives."},
    {"--copy", "SOURCE PATH DESTINATION", "onto disk",
     "On all processors; the same command goes on after an interruption."},
    {"--metadata", "", "with --copy: and DESTINATION.jsonl",
     "metadata.jsonl of the whole file, from which scripts/to_hdf5.py makes an HDF5 file of a copy."},
    {"--serve", "[ADDRESS:]PORT SOURCE...", "over HTTP",
     "To this machine unless ADDRESS says more. A port is open to all users of this machine, also for a FILE "
     "that\n"
     "  only you may read: --token, or --serve unix:PATH, a socket that only you can open. Files that FILE "
     "names are\n"
     "  not served unless -o external= says so, and then only where all who may read FILE may read them "
     "too."},
    {"--token", "", "with --serve: a new token, which clients show", "It is printed with the URL."},
    {"--token-file", "=FILE", "with --serve: a token from FILE", "Only you may be able to read FILE."},
    {"--cors", "=ORIGIN", "with --serve: web pages of ORIGIN may read", ""},
    {"--s3", "", "with --serve: as buckets of Amazon S3",
     "Each SOURCE is a bucket under its last name, for programs that read from S3 (Spark, Dask, DuckDB, "
     "Trino, "
     "Ray)."},
    {"--s3-key-file", "=FILE", "with --s3: requests are signed",
     "FILE has a line ACCESSKEY:SECRET; only you may be able to read it. An address other than this "
     "machine's "
     "needs it,\n  or --anonymous."},
    {"--s3-host", "=NAME", "with --s3: buckets as BUCKET.NAME too", "In paths they stand in any case."},
    {"--anonymous", "", "with --s3: everybody reads, without a key", ""},
};

constexpr std::size_t kNameWidth = 32;

std::string lines_of(std::span<const Topic> topics, std::size_t width) {
  std::string out;
  for (const Topic& topic : topics) {
    const bool joined = topic.form.empty() || topic.form.find('=') < 2;
    out += fmt::format("  {:<{}} {}\n", fmt::format("{}{}{}", topic.names, joined ? "" : " ", topic.form),
                       width, topic.line);
  }
  return out;
}

bool is_called(const Topic& topic, std::string_view name) {
  std::string_view names = topic.names;
  while (!names.empty()) {
    std::string_view one = names.substr(0, names.find(", "));
    names.remove_prefix(std::min(names.size(), one.size() + 2));
    if (one == name) return true;
    one.remove_prefix(std::min(one.find_first_not_of('-'), one.size()));
    if (one == name) return true;
  }
  return false;
}

}  // namespace

std::string help_text() {
  constexpr std::size_t kFlagWidth = 22;
  return "Shows an HDF5 file as a directory tree, read-only.\n"
         "\n"
         "Usage: h5mount [-o OPT,...] [-f] [-d] [-s] SOURCE... [MOUNTPOINT]\n"
         "  SOURCE      an HDF5 file (FILE), https:// or s3://, a set (run-%05d.h5), a\n"
         "              directory, or @LIST, which names sources; several: side by side\n"
         "  MOUNTPOINT  an existing directory, or /dev/fd/N: a /dev/fuse mounted already;\n"
         "              made in this directory where only one SOURCE is named\n" +
         lines_of(kFlags, kFlagWidth) +
         "\n"
         "Without a mount, in any container and as any user (PATH: /.h5/... as well):\n" +
         lines_of(kCommands, kNameWidth) +
         "\n"
         "Options after -o, separated by commas:\n" +
         mount_options_help() +
         "\n"
         "What mount(8) and fstab pass (defaults, nofail, _netdev...) is accepted as well.\n"
         "SIZE is a number of bytes, or one with K, M, G or T: 512M, 1.5G.\n"
         "End a mount with: umount MOUNTPOINT, or fusermount3 -u MOUNTPOINT.\n"
         "Exit codes: 0 mounted, done; 1 usage, or FILE is missing or cannot be read, or\n"
         "a part of it; 2 FILE is not a sound HDF5 file; 32 the mount failed.\n"
         "More: man h5mount, man h5mount-views, man h5mount-serve, h5mount-remote, fsck.h5\n";
}

Result<std::string> help_about(std::string_view name) {
  for (const auto topics : {std::span<const Topic>(kFlags), std::span<const Topic>(kCommands)}) {
    for (const Topic& topic : topics) {
      if (!is_called(topic, name)) continue;
      const std::string more = topic.more.empty() ? "" : fmt::format("\n  {}", topic.more);
      return fmt::format("{}{}{}\n  {}{}\n", topic.names, topic.form.find('=') < 2 ? "" : " ", topic.form,
                         topic.line, more);
    }
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
