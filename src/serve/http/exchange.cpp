#include "exchange.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>

#include "access_token.h"
#include "h5mount/base/log.h"
#include "h5mount/base/thread.h"
#include "h5mount/serve/server.h"

namespace h5mount::serve {
namespace {

// A body is sent through two buffers: one that a job fills, and a smaller one of libmicrohttpd. If there are
// few connections, their buffers are large, as each part costs a job; many share kBodiesBytes until they have
// the smallest buffers.
constexpr std::size_t kBodiesBytes = 16U << 20;
constexpr std::size_t kLargestBuffer = 1U << 20;
constexpr std::size_t kMinSent = 4096, kMaxSent = 64U << 10;
static_assert(kBodyBytes >= kLargestBuffer + kMaxSent);
// From this number of bytes on, bytes that are stored as they are are sent past libmicrohttpd, which then
// cannot keep the connection.
constexpr std::uint64_t kMinStored = 64U << 20;

std::size_t buffer_bytes(std::size_t connections, std::optional<std::uint64_t> body) {
  const std::size_t share = kBodiesBytes / std::max<std::size_t>(connections, 1);
  const std::size_t most = std::clamp(share, kMinBodyBytes, kLargestBuffer);
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(body.value_or(most), 1, most));
}

std::string client_name(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  char name[INET6_ADDRSTRLEN] = "-";
  if (info == nullptr || info->client_addr == nullptr) return name;
  const sockaddr* const address = info->client_addr;
  if (address->sa_family == AF_UNIX) return "unix";
  if (address->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, name, sizeof name);
  if (address->sa_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, name, sizeof name);
  return name;
}

Connection* connection_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return static_cast<Connection*>(info->socket_context);
}

// Whether the name is a token of RFC 9110 section 5.6.2.
bool is_token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

// Whether an answer is sent in one piece, so that copying it takes no time that others notice.
bool is_short(const Answer& answer) {
  return !answer.body || answer.body->size().value_or(kMaxSent + 1) <= kMaxSent;
}

}  // namespace

Exchange::Exchange(ExchangeContext& context, MHD_Connection* connection, std::string target)
    : context_(context), connection_(connection) {
  request_.uri = std::move(target);
  new_work();
}

void Exchange::new_work() {
  work_.emplace(connection()->descriptor(), buffer_bytes(context_.connections.count(), std::nullopt),
                context_.work_deadline);
}

Connection* Exchange::connection() const {
  return connection_of(connection_);
}

MHD_Result Exchange::take_header(void* self, MHD_ValueKind, const char* name, const char* value) {
  auto& here = *static_cast<Exchange*>(self);
  const auto add = [&] { here.request_.headers.emplace_back(name, value == nullptr ? "" : value); };
  here.broken_ = !run_guarded("serve", add);
  return here.broken_ ? MHD_NO : MHD_YES;
}

// libmicrohttpd passes texts that end at a NUL. It takes the target and the version from one line in one
// buffer, and replaces the space between them by a NUL: if the target is shorter than their distance, it was
// cut.
bool Exchange::is_cut(const char* url, const char* version) const {
  const std::less<const char*> before;
  if (!before(url, version) || version - url > static_cast<std::ptrdiff_t>(kConnectionBytes)) return false;
  return static_cast<std::size_t>(version - url) != request_.uri.size() + 1;
}

// Answers before the request's body is sent; the connection is then closed.
MHD_Result Exchange::refuse(Answer answer) {
  stage_ = Stage::Answered;
  refused_ = true;
  answer_ = std::move(answer);
  return fill() ? send() : MHD_NO;
}

MHD_Result Exchange::begin(const char* method, const char* url, const char* version) {
  MHD_get_connection_values(connection_, MHD_HEADER_KIND, &take_header, this);
  if (broken_) return MHD_NO;
  request_ = Request(method, std::move(request_.uri), std::move(request_.headers));
  connection()->enter(Phase::Working);
  stage_ = Stage::Complete;
  // `Content-Length : 3` is a field of another name to this server, but the length of a body to a lenient
  // proxy.
  for (const auto& [name, value] : request_.headers)
    if (!is_token(name)) return refuse(plain_answer(400, "the name of a field is no token"));
  if (is_cut(url, version)) return refuse(plain_answer(400, "the target is no path"));
  if (!request_.has_body) return MHD_YES;
  return refuse(request_.only_reads() ? plain_answer(413, "a request has no body here")
                                      : context_.answer(request_, *work_));
}

MHD_Result Exchange::advance(const char* method, const char* url, const char* version,
                             std::size_t uploaded) noexcept {
  MHD_Result out = MHD_NO;
  run_guarded("serve", [&] { out = next(method, url, version, uploaded); });
  return out;
}

MHD_Result Exchange::next(const char* method, const char* url, const char* version, std::size_t uploaded) {
  switch (stage_) {
    case Stage::Begun:
      return begin(method, url, version);
    case Stage::Complete:
      if (uploaded > 0) return MHD_NO;
      stage_ = Stage::Answered;
      if (answer_here()) return broken_ ? MHD_NO : send();
      suspend_for(&Exchange::make_answer);
      return MHD_YES;
    case Stage::Answered:
      return broken_ ? MHD_NO : send();
  }
  return MHD_NO;
}

// The loop does not touch the connection until the job has resumed it, which is the last thing that the job
// does.
void Exchange::suspend_for(void (Exchange::*job)() noexcept) noexcept {
  MHD_suspend_connection(connection_);
  const bool submitted = run_guarded("serve", [&] {
    jobs().submit([this, job, connection = connection_] {
      work_->begin_job();
      (this->*job)();
      work_->end_job();
      MHD_resume_connection(connection);
    });
  });
  if (!submitted) give_up();
}

// There is no memory for the work of a connection that was suspended for it.
void Exchange::give_up() noexcept {
  broken_ = failed_ = true;
  MHD_resume_connection(connection_);
}

JobQueue& Exchange::jobs() {
  return work_->is_long() ? context_.long_jobs : context_.quick_jobs;
}

// Answers in the loop, without another thread, if the answer can be made at once. Targets with a query
// usually ask for more work.
bool Exchange::answer_here() {
  if (!context_.local || request_.uri.find('?') != std::string::npos) return false;
  work_->begin_quick_job();
  make_answer();
  if (work_->end_quick_job()) return true;
  answer_ = {};
  buffer_.clear();
  ended_ = false;
  new_work();
  return false;
}

// Makes as much of the body as is needed before the answer can begin.
Status Exchange::make_beginning() {
  if (request_.method == "HEAD" && !answer_.reads_for_head) return {};
  if (answer_.of_chunk && answer_.body) H5_TRY(make_whole());
  if (!work_->is_quick() || is_short(answer_)) return fill();
  if (!fill_at_once()) work_->give_up();
  return {};
}

// Makes the whole body, so that whatever fails becomes the answer.
Status Exchange::make_whole() {
  constexpr std::size_t kPart = 256U << 10;
  const auto size = answer_.body->size();
  // A larger one is made by a job, which has the time.
  if (work_->is_quick() && size.value_or(kMaxSent + 1) > kMaxSent) {
    work_->give_up();
    return {};
  }
  H5_ASSIGN(MemoryCharge charge,
            take_memory(context_.memory, static_cast<std::size_t>(size.value_or(kPart)), *work_));
  std::string text;
  text.reserve(static_cast<std::size_t>(size.value_or(0)));
  for (std::size_t filled = 0;;) {
    const std::size_t most = size ? std::min<std::uint64_t>(kPart, *size - filled) : kPart;
    if (most == 0) break;
    if (!size) H5_TRY(charge.resize(filled + kPart));
    text.resize(filled + most);
    const auto out = std::as_writable_bytes(std::span(text).subspan(filled));
    H5_ASSIGN(const std::size_t count, answer_.body->read(out, *work_));
    if (count == 0 && size) return fail({ErrorCode::Stale, "the file became shorter while it was read"});
    work_->gave(count);
    filled += count;
    text.resize(filled);
    if (count == 0) break;
  }
  answer_.body = make_text_body(std::move(text), std::move(charge));
  return {};
}

void Exchange::make_answer() noexcept {
  broken_ = !run_guarded("serve", [this] { answer_request(); });
}

void Exchange::answer_request() {
  try {
    answer_ = context_.answer(request_, *work_);
    const Status first = make_beginning();
    if (first && !work_->timed_out()) return;
    // If nothing of the body can be read, the answer becomes that of the error, instead of one that is cut
    // off.
    const Error late(ErrorCode::TimedOut, "it took too long");
    answer_ = context_.failed(request_, answer_, work_->timed_out() ? late : first.error());
  } catch (const std::bad_alloc&) {
    answer_ = context_.failed(request_, answer_, no_memory());
  } catch (const std::exception& exception) {
    log(LogLevel::Error, "serve: {}: {}", without_token(request_.uri), exception.what());
    answer_ = context_.failed(request_, answer_, Error(ErrorCode::Internal, "internal error"));
  }
  buffer_.clear();
  ended_ = false;
  (void)fill();
}

// Reads the next part of the body into the buffer.
Status Exchange::fill() {
  given_ = filled_ = 0;
  if (!answer_.body || ended_) {
    ended_ = true;
    return {};
  }
  const std::size_t most = buffer_bytes(context_.connections.count(), answer_.body->size());
  if (buffer_.size() < most) buffer_.resize(most);
  const auto count = answer_.body->read(buffer_, *work_);
  if (!count) return fail(count.error());
  filled_ = *count;
  ended_ = filled_ == 0;
  work_->gave(filled_);
  return {};
}

// The same without waiting. Returns false if no bytes can be had without waiting.
bool Exchange::fill_at_once() {
  buffer_.resize(block_bytes());
  given_ = 0;
  filled_ = answer_.body->read_at_once(buffer_, *work_).value_or(0);
  return filled_ > 0;
}

std::size_t Exchange::block_bytes() const {
  const auto size = answer_.body ? answer_.body->size() : std::uint64_t{0};
  return std::clamp(buffer_bytes(context_.connections.count(), size) / 4, kMinSent, kMaxSent);
}

// Makes the next part of the body, or ends the body if the part cannot be made.
template <class Make>
void Exchange::guard_body(Make make) noexcept {
  Status done = fail(no_memory());
  run_guarded("serve", [&] { done = make(); });
  failed_ = !done;
  const bool client_is_gone = failed_ && done.error().code() == ErrorCode::Interrupted && !work_->timed_out();
  if (!failed_ || client_is_gone) return;
  run_guarded("serve", [&] {
    log(LogLevel::Warning, "serve: {}: {}", without_token(request_.uri), done.error().text());
  });
}

void Exchange::fill_more() noexcept {
  guard_body([this] { return fill(); });
}

// The number of bytes of a body that are sent past libmicrohttpd: all but its beginning, which is in the
// buffer, and its end, which is sent once it is known that the file has not changed: a body made of two
// versions is thus never complete.
std::uint64_t Exchange::stored_bytes(std::optional<std::uint64_t> size) const {
  if (!context_.local || request_.method == "HEAD" || !size || *size < filled_ + kMinStored) return 0;
  return answer_.body->stored().size() == *size - filled_ ? *size - filled_ - block_bytes() : 0;
}

// Sends stored bytes from the file's own pages, which only the kernel copies. With sendfile the pages
// themselves would wait in the sockets, on this machine until the client takes them, and could still be
// written to after any check.
Status Exchange::send_stored() {
  while (stored_ > 0 && !work_->job_is_old()) {
    const ByteSpan next = answer_.body->stored();
    if (next.empty()) return fail(Error(ErrorCode::Stale, "the file changed while it was read"));
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(next.size(), stored_));
    const ssize_t count =
        ::send(connection()->descriptor(), next.data(), most, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    // EFAULT means that the file was truncated.
    if (count < 0 && errno == EFAULT) return fail(io_error(EIO, "the file was truncated while it was read"));
    if (count < 0) return fail(Error(ErrorCode::Interrupted, "the client has gone"));
    const auto sent = static_cast<std::uint64_t>(count);
    answer_.body->skip(sent);
    stored_ -= sent;
    sent_ += sent;
    work_->gave(sent);
    connection()->enter(Phase::Sending);
  }
  return stored_ > 0 ? Status() : answer_.body->revalidate();
}

// Submits jobs until all stored bytes are sent; each job sends as many as the socket takes. The connection is
// suspended meanwhile.
void Exchange::submit_stored() noexcept {
  if (!run_guarded("serve", [this] { jobs().submit([this] { send_more_stored(); }); })) give_up();
}

void Exchange::send_more_stored() noexcept {
  work_->begin_job();
  guard_body([this] { return send_stored(); });
  work_->end_job();
  const bool goes_on = stored_ > 0 && !failed_;
  bool waits = false;
  if (goes_on)
    run_guarded("serve", [&] {
      waits = context_.writable.wait(connection()->descriptor(), [this] { submit_stored(); });
    });
  if (waits) return;  // this may be sent already
  failed_ = failed_ || goes_on;
  MHD_resume_connection(connection_);
}

MHD_Result Exchange::send() {
  const auto size = answer_.body ? answer_.body->size() : std::uint64_t{0};
  whole_ = size == filled_ && filled_ <= kMaxSent;
  stored_ = stored_bytes(size);
  // If stored bytes are sent, libmicrohttpd itself sends fewer bytes than the body has, and would state that
  // number as the length.
  const std::uint64_t told = stored_ > 0 ? MHD_SIZE_UNKNOWN : size.value_or(MHD_SIZE_UNKNOWN);
  MHD_Response* const made =
      whole_ ? MHD_create_response_from_buffer(filled_, buffer_.data(), MHD_RESPMEM_PERSISTENT)
             : MHD_create_response_from_callback(told, block_bytes(), &read_body, this, nullptr);
  if (made == nullptr) return MHD_NO;
  const std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)> owned(made, &MHD_destroy_response);
  MHD_Response* const response = owned.get();
  // Without memory for one of its fields it would be another answer.
  bool complete = true;
  const auto add = [&](const char* name, const char* value) {
    complete = MHD_add_response_header(response, name, value) == MHD_YES && complete;
  };
  if (stored_ > 0) {
    constexpr int kOwnLength = MHD_RF_HTTP_1_0_COMPATIBLE_STRICT | MHD_RF_INSANITY_HEADER_CONTENT_LENGTH;
    MHD_set_response_options(response, static_cast<MHD_ResponseFlags>(kOwnLength), MHD_RO_END);
    add("Content-Length", fmt::format("{}", *size).c_str());
  }
  // Else libmicrohttpd ends the chunks of a body that HEAD does not have, and a client takes that end for the
  // next answer.
  if (request_.method == "HEAD" && !size)
    MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
  for (const auto& [name, value] : answer_.headers) add(name.c_str(), value.c_str());
  if (refused_ || context_.draining || context_.connections.crowded()) add("Connection", "close");
  if (!complete) return MHD_NO;
  connection()->enter(Phase::Sending);
  return MHD_queue_response(connection_, answer_.status, response);
}

ssize_t Exchange::read_body(void* self, std::uint64_t, char* out, std::size_t most) {
  return static_cast<Exchange*>(self)->read(out, most);
}

ssize_t Exchange::read(char* out, std::size_t most) noexcept {
  std::size_t count = 0;
  if (given_ < filled_) {
    count = std::min(most, filled_ - given_);
    std::memcpy(out, buffer_.data() + given_, count);
    given_ += count;
  } else if (stored_ > 0 && !failed_) {
    MHD_suspend_connection(connection_);
    submit_stored();
    return 0;
  } else if (context_.local && !failed_ && !ended_) {
    // Bytes that are in memory are copied here, which costs less than passing the work to another thread. If
    // there is an error, the job meets it again.
    RequestWork quick(connection()->descriptor());
    quick.begin_quick_job();
    guard_body([&] {
      count = answer_.body->read_at_once(std::as_writable_bytes(std::span(out, most)), quick).value_or(0);
      return Status();
    });
    (void)quick.end_quick_job();
  }
  if (failed_) return MHD_CONTENT_READER_END_WITH_ERROR;
  if (count > 0) {
    sent_ += count;
    connection()->enter(Phase::Sending);
    return static_cast<ssize_t>(count);
  }
  if (ended_) return MHD_CONTENT_READER_END_OF_STREAM;
  connection()->enter(Phase::Working);
  suspend_for(&Exchange::fill_more);
  return 0;
}

void Exchange::end(MHD_RequestTerminationCode how) {
  connection()->set_reused();
  connection()->enter(Phase::Header);
  if (!context_.log_answer) return;
  if (whole_ && how == MHD_REQUEST_TERMINATED_COMPLETED_OK && request_.method != "HEAD") sent_ = filled_;
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start_);
  context_.log_answer(fmt::format("{} {} {} {} {} bytes {} ms{}", client_name(connection_),
                                  request_.method.empty() ? "-" : request_.method,
                                  escape_for_log(without_token(request_.uri)),
                                  stage_ == Stage::Answered ? answer_.status : 400, sent_, took.count(),
                                  how == MHD_REQUEST_TERMINATED_COMPLETED_OK ? "" : ", cut off"));
}

}  // namespace h5mount::serve
