#include <linux/limits.h>

#include <string_view>

#include "adapter.h"
#include "guard.h"
#include "h5mount/tree/xattr_list.h"

namespace h5mount::fuse {
namespace {

constexpr std::string_view kNamespace = "user.";

// Replies to getxattr (or to listxattr, with an empty name). If `size` is 0, replies with the length, and
// keeps the value for the request that follows.
void reply_value(Reply& reply, fuse_ino_t node, std::string_view name, std::string value, std::size_t size) {
  if (size == 0) {
    Adapter& adapter = reply.adapter();
    const std::size_t length = value.size();
    if (length > 0) adapter.xattr_answers.keep(node, name, std::move(value), XattrAnswers::Clock::now());
    reply.with([&](fuse_req_t r) { return fuse_reply_xattr(r, length); });
  } else if (size < value.size()) {
    reply.error(ERANGE);
  } else {
    reply.with([&](fuse_req_t r) { return fuse_reply_buf(r, value.data(), value.size()); });
  }
}

// Answers a request if its value was kept; else returns false.
bool reply_kept(Reply& reply, fuse_ino_t node, std::string_view name, std::size_t size) {
  if (size == 0) return false;
  auto kept = reply.adapter().xattr_answers.take(node, name, XattrAnswers::Clock::now());
  if (!kept) return false;
  reply_value(reply, node, name, *std::move(kept), size);
  return true;
}

}  // namespace

void op_getxattr(fuse_req_t request, fuse_ino_t node, const char* name, std::size_t size) {
  // After ENOTSUP `ls -l` makes no further such requests to this mount; ENODATA would cost two requests for
  // each file, whose answers are never cached.
  if (!std::string_view(name).starts_with(kNamespace)) {
    fuse_reply_err(request, ENOTSUP);
    return;
  }
  guard(request, "getxattr", node, [&](Reply& reply) -> Status {
    if (reply_kept(reply, node, name, size)) return {};
    auto value = reply.adapter().tree->get_xattr(node, name, reply.budget());
    if (!value) {
      const ErrorCode code = value.error().code();
      if (code != ErrorCode::NotFound && code != ErrorCode::TooLarge) return fail(value.error());
      reply.error(code == ErrorCode::NotFound ? ENODATA : E2BIG);
    } else if (value->size() > XATTR_SIZE_MAX) {
      reply.error(E2BIG);
    } else {
      reply_value(reply, node, name, *std::move(value), size);
    }
    return {};
  });
}

void op_listxattr(fuse_req_t request, fuse_ino_t node, std::size_t size) {
  guard(request, "listxattr", node, [&](Reply& reply) -> Status {
    if (reply_kept(reply, node, {}, size)) return {};
    H5_ASSIGN(const auto names, reply.adapter().tree->list_xattrs(node, reply.budget()));
    reply_value(reply, node, {}, tree::kernel_xattrs(names).list, size);
    return {};
  });
}

}  // namespace h5mount::fuse
