#include <algorithm>

#include "adapter.h"
#include "h5mount/base/mechanism.h"

namespace h5mount::fuse {
namespace {

constexpr unsigned kMaxRequestBytes = 1U << 20;
// The kernel's default is 12 requests for pages at a time, and a further reader waits. Requests that wait for
// a source that hangs count too, so many are allowed; beyond kCongested the kernel reads ahead no further.
constexpr unsigned kMaxBackground = 1024, kCongested = 48;
constexpr unsigned kMinorOfLargeListings = 43;  // Linux 6.15; replies of 32 KiB and more since 6.14

void want(fuse_conn_info* connection, unsigned capability, bool wanted) {
  if (wanted && (connection->capable & capability) != 0) connection->want |= capability;
  if (!wanted) connection->want &= ~capability;
}

}  // namespace

void op_init(void* userdata, fuse_conn_info* connection) {
  auto& adapter = *static_cast<Adapter*>(userdata);
  // Pages stay cached whatever the attributes are; the tree invalidates those that become stale.
  want(connection, FUSE_CAP_AUTO_INVAL_DATA, false);
  want(connection, FUSE_CAP_EXPLICIT_INVAL_DATA, true);
  want(connection, FUSE_CAP_CACHE_SYMLINKS, true);
  want(connection, FUSE_CAP_PARALLEL_DIROPS, true);
  want(connection, FUSE_CAP_ASYNC_READ, true);
  want(connection, FUSE_CAP_READDIRPLUS, true);
  // Entries with room for attributes are several times as long. In earlier kernels, where a reply is one
  // page, a listing of names would need as many more requests.
  const bool large_listings = connection->proto_minor >= kMinorOfLargeListings;
  adapter.own_listing_advice = large_listings && (connection->capable & FUSE_CAP_READDIRPLUS) != 0;
  if ((connection->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) == 0 || !is_on(Mechanism::NoOpendir))
    adapter.opens_directories = true;
  want(connection, FUSE_CAP_READDIRPLUS_AUTO, !adapter.own_listing_advice);
  // Replies are written directly from mapped pages. Splice falls back to a copy at 1 MiB, and moving pages
  // evicts them from the page cache of the HDF5 file.
  want(connection, FUSE_CAP_SPLICE_READ, false);
  want(connection, FUSE_CAP_SPLICE_WRITE, false);
  want(connection, FUSE_CAP_SPLICE_MOVE, false);
  want(connection, FUSE_CAP_HANDLE_KILLPRIV, false);
  // libfuse derives the largest read from the largest write. Since 3.17.2 it proposes what the kernel allows
  // (fs.fuse.max_pages_limit), which may be more.
  connection->max_write = std::max(connection->max_write, kMaxRequestBytes);
  connection->max_read = adapter.options.max_read;
  connection->max_background = kMaxBackground;
  connection->congestion_threshold = kCongested;
}

}  // namespace h5mount::fuse
