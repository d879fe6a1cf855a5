// Two objects of files compared, with all below them. Threads: one; values are compared on the workers.
#pragma once

#include "diff_context.h"
#include "h5mount/tree/file_object.h"

namespace h5mount::front {

// At the context's place. Links are compared, and not followed where they are soft or external. Fails if the
// output cannot be written.
Status diff_objects(DiffContext& context, const tree::FileObjectPtr& a, const tree::FileObjectPtr& b);

}  // namespace h5mount::front
