#include "command_line.h"

#include <fmt/format.h>

#include "h5mount/base/text.h"
#include "h5mount/sign/sha256.h"
#include "options.h"

namespace h5mount::cli {
namespace {

constexpr std::string_view kProgram = "fsck.h5";

Error bad_argument(std::string text) {
  return {ErrorCode::InvalidValue, std::move(text)};
}

Status set_salvage(Arguments& arguments, std::string_view how) {
  arguments.fsck.salvage = true;
  arguments.fsck.salvage_far = how == "far";
  if (how.empty() || how == "near" || how == "far") return {};
  return fail(bad_argument(fmt::format("--salvage: {} is neither near nor far (see fsck.h5 --help)", how)));
}

Status set_checksum(Arguments& arguments, std::string_view algorithm) {
  arguments.fsck.checksums = true;
  if (algorithm == "sha256") return {};
  return fail(bad_argument(fmt::format("--checksum: {} is not sha256 (see fsck.h5 --help)", algorithm)));
}

Status set_external(Arguments& arguments, std::string_view policy) {
  arguments.fsck.options.push_back(fmt::format("external={}", policy));
  return {};
}

Status set_threads(Arguments& arguments, std::string_view number) {
  arguments.fsck.threads = parse_whole<unsigned>(number).value_or(0);
  return {};
}

Status set_progress(Arguments& arguments, std::string_view descriptor) {
  const int number = parse_whole<int>(descriptor).value_or(0);
  arguments.fsck.progress = true;
  arguments.fsck.progress_descriptor = number > 0 ? number : -1;
  return {};
}

constexpr ProgramOption kFsckOptions[] = {
    {"h", "--help", Takes::Nothing, 1, "", "this text", set<&Arguments::help>},
    {"q", "--quiet", Takes::Nothing, 1, "", "print findings only",
     set<&Arguments::fsck, &FsckCommand::quiet>},
    {"", "--salvage", Takes::Maybe, 1, "[=far]",
     "tell what the option salvage of h5mount finds in a damaged file, and check what it then shows; =far: "
     "also of a URL, all of which is then fetched",
     set_salvage},
    {"", "--quick", Takes::Nothing, 1, "", "check metadata only; read no data",
     set<&Arguments::fsck, &FsckCommand::quick>},
    {"", "--checksum", Takes::Value, 1, "sha256",
     "print a checksum of every dataset's bytes, as `sha256sum --check` reads them in a mount; findings then "
     "go to stderr",
     set_checksum},
    {"", "--references", Takes::Nothing, 1, "",
     "the sources are copies of /.h5/references.json, .parq or .icechunk: hold each chunk's place, and the "
     "size and validator of each file, against the files as they are now",
     set<&Arguments::fsck, &FsckCommand::references>},
    {"", "--policy", Takes::Value, 1, "untrusted|trusted|FILE",
     "judge instead whether the files may be opened, and why not; FILE has limits of your own, NAME = VALUE. "
     "Exit code: the first of 8 not judged, 2 corrupt, 3 forbidden, 4 too much, 1 with warnings, 0 accepted",
     set<&Arguments::fsck, &FsckCommand::policy>},
    {"", "--json", Takes::Nothing, 1, "", "print a JSON object for each finding and each file",
     set<&Arguments::fsck, &FsckCommand::json>},
    {"", "--external", Takes::Value, 1, "POLICY", "files that a file names: as the option of h5mount",
     set_external},
    {"o", "", Takes::Values, 1, "OPT,...", "options of h5mount, such as those of URLs: profile=, timeout=",
     set<&Arguments::fsck, &FsckCommand::options>},
    // Without a number, -n is e2fsck's: nothing is to be changed.
    {"n", "", Takes::Number, 1, "[NUMBER]", "threads; one for each core by default", set_threads},
    {"C", "", Takes::Number, 1, "[DESCRIPTOR]",
     "progress: on the terminal, or to a descriptor as fsck(8) reads it", set_progress},
    {"apyfvtr", "", Takes::Nothing, 1, "", "ignored, as fsck(8) passes them: nothing is ever changed",
     set<&Arguments::ignored>},
    {"V", "--version", Takes::Nothing, 1, "", "the version", set<&Arguments::version>},
};

std::string fsck_help() {
  constexpr std::size_t kWidth = 27;
  return "Verifies HDF5 files without mounting them: every object, attribute and metadata checksum, "
         "and every chunk through its filters. Prints a line for each finding and a summary of each file. "
         "Exit codes, combined: 0 clean, 4 damaged, 8 could not be checked, 16 usage, 32 cancelled.\n\n"
         "Usage: fsck.h5 [OPTIONS] SOURCE...\n"
         "  SOURCE: HDF5 files, directories of them, @FILE that names them\n\n" +
         option_lines(kFsckOptions, kWidth);
}

}  // namespace

Result<FsckCommand> parse_fsck_arguments(int count, const char* const* words,
                                         std::optional<std::string>& output) {
  H5_ASSIGN(Arguments arguments, read_words(kFsckOptions, count, words, kProgram));
  if (arguments.help) output = fsck_help();
  if (!arguments.help && arguments.version) output = "fsck.h5 " H5MOUNT_VERSION "\n";
  if (output) return FsckCommand();
  H5_TRY(check_words(kFsckOptions, arguments, 1, kProgram));
  FsckCommand& command = arguments.fsck;
  command.sources = std::move(arguments.operands);
  if (command.sources.empty()) return fail(bad_argument("no file is named; see fsck.h5 --help"));
  if (command.checksums && !sign::has_sha256())
    return fail({ErrorCode::UnsupportedFeature, "--checksum: fsck.h5 has no libcrypto"});
  if (command.references && (command.checksums || command.salvage || command.quick))
    return fail(bad_argument("--references goes with none of --checksum, --salvage, --quick"));
  if (command.policy && (command.checksums || command.salvage || command.references))
    return fail(bad_argument("--policy goes with none of --checksum, --salvage, --references"));
  command.progress = command.progress || !command.quiet;
  return std::move(command);
}

}  // namespace h5mount::cli
