// The option policy: each HDF5 file is judged as it is opened (h5mount/check/verdict.h, as fsck.h5 --policy
// --quick does), before anything of it is used. Warnings are logged. Threads: any.
#pragma once

#include <memory>

#include "h5mount/check/policy.h"
#include "h5mount/object/source_opener.h"

namespace h5mount::cli {

using PolicyPtr = std::shared_ptr<const check::Policy>;

// An opener of what `inner` finds, which refuses what the policy does (base/error.h: refused_error); `inner`
// itself if the policy is null.
std::shared_ptr<object::SourceOpener> make_judging_opener(std::shared_ptr<object::SourceOpener> inner,
                                                          PolicyPtr policy);

// The error of opening a file as those who have a policy see it: refused, if it tells of the file's bytes.
Error judged_error(const Error& why, const PolicyPtr& policy);

}  // namespace h5mount::cli
