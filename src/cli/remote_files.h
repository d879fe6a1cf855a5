// URLs as sources: one client for all of a program's, and what names in a remote file lead to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "h5mount/object/source_opener.h"
#include "h5mount/remote/remote.h"
#include "h5mount/tree/forest.h"
#include "mount_options.h"

namespace h5mount::cli {

// Makes the client where a path is a URL, while this process may start the programs that give credentials.
Status prepare_urls(const std::vector<std::string>& paths, const remote::Options& options);

// The opener for a URL. The client is made with the first one, by the options of then; errors are those of
// making it.
Result<std::shared_ptr<object::SourceOpener>> make_remote_opener(const object::ExternalAccess& access,
                                                                 const remote::Options& options);

// Before the program ends: what came of URLs is in the disk cache then.
void finish_remote();
// All objects of a bucket whose keys begin as `url` does. Nothing is asked for yet.
Result<tree::ForestDirectoryPtr> make_prefix_directory(const std::string& url, tree::ShownFiles shown,
                                                       const remote::Options& options, tree::OpenNamed open);

// Whether there are any, by one request. Errors: NotFound, Io.
Status check_prefix(const std::string& url, const remote::Options& options);

// Of all URLs of this program; zeros where there was none.
remote::Counters remote_counters();
bool uses_remote();

// Overwrites what is secret of URLs in the words that /proc shows of this process.
void hide_secrets(int count, char** words);

}  // namespace h5mount::cli
