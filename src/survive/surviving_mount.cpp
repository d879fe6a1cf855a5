#include "surviving_mount.h"

#include "h5mount/base/log.h"
#include "surviving_tree.h"

namespace h5mount::survive {

std::shared_ptr<tree::Tree> SurvivingMount::adopt(std::shared_ptr<tree::Tree> tree) {
  return std::make_shared<SurvivingTree>(std::move(tree), nodes, goes_on_);
}

Status SurvivingMount::begin(int device, const std::function<bool(std::span<std::byte> request)>& process) {
  if (!goes_on_ && !keep_device_(device))
    return fail(Error(ErrorCode::Io, "the process that is to keep the mount has ended: mount again"));
  if (goes_on_)
    log(LogLevel::Warning,
        "this server goes on in place of another server, with {} requests that it had read",
        requests.inherited());
  return requests.begin(device, process);
}

}  // namespace h5mount::survive
