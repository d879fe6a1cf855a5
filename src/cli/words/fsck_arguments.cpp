#include "fsck_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "h5mount/sign/sha256.h"

namespace h5mount::cli {
namespace {

bool is_number(std::string_view word) {
  return !word.empty() && word.size() < 6 && word.find_first_not_of("0123456789") == std::string_view::npos;
}

// -C and -n may have a number, as fsck(8) gives them: -C, -C0, -C 0. Without a number, -n is e2fsck's:
// nothing is to be changed. The other words are left for the parser.
std::vector<std::string> take_numbers(int count, const char* const* words, FsckCommand& command) {
  std::vector<std::string> others;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i], letter = word.substr(0, 2);
    if ((letter != "-C" && letter != "-n") || (word.size() > 2 && !is_number(word.substr(2)))) {
      others.emplace_back(word);
      continue;
    }
    std::string_view number = word.substr(2);
    if (number.empty() && i + 1 < count && is_number(words[i + 1])) number = words[++i];
    const int value = number.empty() ? 0 : std::stoi(std::string(number));
    if (letter == "-C") {
      command.progress = true;
      command.progress_descriptor = value > 0 ? value : -1;
    } else {
      command.threads = static_cast<unsigned>(value);
    }
  }
  std::ranges::reverse(others);  // as CLI11 takes them
  return others;
}

}  // namespace

Result<FsckCommand> parse_fsck_words(int count, const char* const* words, std::optional<std::string>& said) {
  FsckCommand command;
  bool ignored = false;
  CLI::App app(
      "Verifies HDF5 files without mounting them: every object, attribute and metadata checksum, and every "
      "chunk through its filters. Prints a line for each finding and a summary of each file. Exit codes, "
      "combined: 0 clean, 4 damaged, 8 could not be checked, 16 usage, 32 cancelled.",
      "fsck.h5");
  app.add_option("SOURCE", command.sources, "HDF5 files, directories of them, @FILE that names them");
  app.add_flag("-q,--quiet", command.quiet, "print findings only");
  std::string salvage;
  app.add_flag(
         "--salvage{near}", salvage,
         "tell what the option salvage of h5mount finds in a damaged file, and check what it then shows; "
         "--salvage=far: also of a URL, all of which is then fetched")
      ->check(CLI::IsMember({"near", "far"}));
  app.add_flag("--quick", command.quick, "check metadata only; read no data");
  std::string algorithm;
  app.add_option("--checksum", algorithm,
                 "print a checksum of every dataset's bytes, as `sha256sum --check` reads them in a mount; "
                 "findings then go to stderr")
      ->check(CLI::IsMember({"sha256"}));
  app.add_flag("--json", command.json, "print a JSON object for each finding and each file");
  std::string external;
  app.add_option("--external", external, "files that a file names: as the option of h5mount");
  app.add_option("-o", command.options, "options of h5mount, such as those of URLs: profile=, timeout=")
      ->allow_extra_args(false)
      ->type_name("OPT,...");
  app.footer(
      "  -n [NUMBER]                 threads; one for each core by default\n"
      "  -C [DESCRIPTOR]             progress: on the terminal, or to a descriptor as fsck(8) reads it");
  app.add_flag("-a,-p,-y,-f,-v,-t,-r", ignored, "ignored, as fsck(8) passes them: nothing is ever changed");
  app.add_flag("-n", ignored)->group("");  // among other letters: -fn
  app.set_version_flag("-V,--version", std::string("fsck.h5 " H5MOUNT_VERSION));
  try {
    app.parse(take_numbers(count, words, command));
  } catch (const CLI::CallForVersion& version) {
    said = std::string(version.what()) + "\n";
    return command;
  } catch (const CLI::Success&) {
    said = app.help();
    return command;
  } catch (const CLI::ParseError& error) {
    return fail({ErrorCode::InvalidValue, std::string(error.what()) + " (see fsck.h5 --help)"});
  }
  if (command.sources.empty()) return fail({ErrorCode::InvalidValue, "no file is named; see fsck.h5 --help"});
  if (!external.empty()) command.options.push_back("external=" + external);
  command.checksums = !algorithm.empty();
  command.salvage = !salvage.empty();
  command.salvage_far = salvage == "far";
  if (command.checksums && !sign::has_sha256())
    return fail({ErrorCode::UnsupportedFeature, "--checksum: fsck.h5 has no libcrypto"});
  command.progress = command.progress || !command.quiet;
  return command;
}

}  // namespace h5mount::cli
