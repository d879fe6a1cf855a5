// The parts that all sources of a client share.
#pragma once

#include <atomic>
#include <list>
#include <memory>

#include "aws/aws_identity.h"
#include "aws/credential_keeper.h"
#include "cache/disk_cache.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/remote/remote.h"
#include "transport/host_secrets.h"
#include "transport/transfers.h"

namespace h5mount::remote {

// Bytes of a source that have come or are being fetched.
struct Segment {
  Segment(std::uint64_t from, std::uint64_t to, bool is_ahead) : begin(from), end(to), ahead(is_ahead) {}
  const std::uint64_t begin, end;
  const bool ahead;  // fetched before anybody asked for it
  // The members below are guarded by ClientParts::mutex.
  std::shared_ptr<const std::string> bytes;  // null: being fetched, failed, or dropped
  std::optional<Error> error;
  bool done = false;
  unsigned readers = 0;                                // those that will copy of it; it is not dropped before
  std::uint64_t read = 0;                              // bytes that readers took of it, at most its length
  std::chrono::steady_clock::time_point came_at;       // valid while `bytes`
  std::list<std::shared_ptr<Segment>>::iterator kept;  // valid while `bytes`
  Condition came;
};
using SegmentPtr = std::shared_ptr<Segment>;

struct ClientParts {
  ClientParts(const Options& chosen, HostSecrets loaded, std::unique_ptr<DiskCache> kept_on_disk,
              const AwsProfiles& profiles)
      : options(chosen),
        secrets(std::move(loaded)),
        disk(std::move(kept_on_disk)),
        identity(chosen, profiles),
        credentials(chosen, {chosen, profiles, identity.configured_region()}, transfers) {}
  // Ends the transfers first, as their callbacks use the other members.
  ~ClientParts() { transfers.end(); }

  static constexpr unsigned kMaxAtOnce = 16;
  static constexpr std::uint64_t kMaxKeptBytes = 64U << 20;  // of bytes that have come or are being fetched

  const Options options;
  const HostSecrets secrets;
  const std::unique_ptr<DiskCache> disk;  // null: nothing is kept on disk
  std::atomic<std::uint64_t> requests = 0, bytes = 0, retries = 0;

  Mutex mutex;                                      // of all segments of all sources
  std::list<SegmentPtr> kept H5_GUARDED_BY(mutex);  // what is dropped first is in front
  std::uint64_t held_bytes H5_GUARDED_BY(mutex) = 0;

  AwsIdentity identity;
  Transfers transfers{kMaxAtOnce};
  CredentialKeeper credentials;
};

// As described at Client::list. It waits, so it is not called in the thread of the transfers.
Result<ListedPage> list_bucket(ClientParts& client, const Url& prefix, const ListQuery& query);

}  // namespace h5mount::remote
