// URLs as sources: one client for all URLs of a program, and what names in a remote file lead to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../words/mount_options.h"
#include "h5mount/object/source_opener.h"
#include "h5mount/remote/remote.h"
#include "h5mount/tree/forest.h"

namespace h5mount::cli {

// If a path is a URL, makes the client while this process may still start the programs that supply
// credentials.
Status prepare_urls(const std::vector<std::string>& paths, const remote::Options& options);

// The opener for a URL. The client is made with the first one, from the options given then; errors are those
// of making it.
Result<std::shared_ptr<object::SourceOpener>> make_remote_opener(const object::ExternalAccess& access,
                                                                 const remote::Options& options);

// The meaning of `error`, of opening the URL of an opener that make_remote_opener made: the name of the
// format if the object is of another known one, else the error itself.
Error why_not_opened(const object::SourceOpener& opener, const Error& error);

// Warns if the server states no versions of what the opener opened. To be called once it is known to be an
// HDF5 file.
void warn_of_versions(const object::SourceOpener& opener);

// To be called before the program ends: everything that was read from URLs is then in the disk cache.
void finish_remote();
// A directory of all objects of a bucket whose keys begin as `url` does. No request is made yet.
Result<tree::ForestDirectoryPtr> make_prefix_directory(const std::string& url, tree::ShownFiles shown,
                                                       const remote::Options& options, tree::OpenNamed open);

// Checks with one request that there are any, and tells whether some are left out for their names. Errors:
// NotFound, Io.
Status check_prefix(const std::string& url, const tree::ShownFiles& shown, const remote::Options& options);

// The counters of all URLs of this program; zeros if there was none.
remote::Counters remote_counters();
bool uses_remote();

// Overwrites the secrets in URLs among the words that /proc shows of this process.
void hide_secrets(int count, char** words);

}  // namespace h5mount::cli
