// SourceOpener: finds and opens sources by their names. A FileSet has one. Programs (cli) make it for the
// kind of names that their user gives, paths or URLs, and nothing else knows where a name leads.
//
// Names from files are not trusted: the opener's policy decides where they may lead
// (object/external_access.h). Threads: any, once `open_main` has returned.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "h5mount/io/byte_source.h"
#include "h5mount/object/external_access.h"

namespace h5mount::object {

struct OpenedFile;      // object/file_set.h
class SourceDirectory;  // object/source_directory.h

// A source that a name leads to, before it is opened.
struct FoundSource {
  // Equal for two names that lead to the same source, provided that names in it lead to the same places.
  std::string key;
  // As in OpenedFile.
  std::string path = {}, directory = {}, target_directory = {};
  FileAttributes attributes = {};
  // To be called once.
  std::move_only_function<Result<std::shared_ptr<io::ByteSource>>()> open;
};

class SourceOpener {
 public:
  virtual ~SourceOpener() = default;

  // Finds the source that the user names. Called once, before the other function. The place of this source
  // decides where names in it may lead.
  virtual Result<FoundSource> find_main(const std::string& name) = 0;

  // Finds the source that `from` names. Errors: AccessDenied (the message names the option that would allow
  // it), NotFound.
  virtual Result<FoundSource> find_named(const OpenedFile& from, std::string_view name,
                                         NameUse use) const = 0;

  virtual const ExternalAccess& access() const = 0;

  // Called with each HDF5 file once it is open, before anything in it is used. An error (base/error.h:
  // refused_error) refuses the file.
  virtual Status admit([[maybe_unused]] const std::shared_ptr<const OpenedFile>& file) const { return {}; }

  // Whether the main source was opened as it is, and `salvage_main` may return one that shows more of it.
  virtual bool may_salvage_main() const { return false; }
  // A source with everything that can still be known of the main source, which may be damaged; null if that
  // is no more than the main source has. `go_on` is called now and then: false ends the work, with
  // Interrupted.
  virtual Result<std::shared_ptr<io::ByteSource>> salvage_main(
      [[maybe_unused]] const std::function<bool()>& go_on) const {
    return nullptr;
  }
  // Whether that source gives the fill value for bytes that cannot be known.
  virtual bool salvage_fills() const { return false; }
};

// Names are paths of local files, opened as object/file_set.h says. `force`: opens also files that a writer
// has locked.
std::shared_ptr<SourceOpener> make_local_opener(const ExternalAccess& access, bool force);
// The same for one of many files: `find_main` takes a path below the directory, and neither a symlink nor a
// rename makes it leave the directory. Descriptors may be closed between reads (io/descriptors.h).
std::shared_ptr<SourceOpener> make_directory_opener(std::shared_ptr<const SourceDirectory> directory,
                                                    const ExternalAccess& access, bool force);
// Opens nothing; for a source that is open already.
std::shared_ptr<SourceOpener> make_no_opener();

}  // namespace h5mount::object
