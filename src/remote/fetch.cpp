#include <algorithm>
#include <ctime>

#include "far_object.h"
#include "h5mount/base/foreign_format.h"
#include "h5mount/base/log.h"
#include "h5mount/base/thread.h"
#include "transport/answer.h"

namespace h5mount::remote {
namespace {

constexpr unsigned kMaxHops = 10;
constexpr std::chrono::milliseconds kShortTry{1'000};

class Fetch : public std::enable_shared_from_this<Fetch> {
 public:
  Fetch(std::shared_ptr<FarObject> object, std::uint64_t begin, std::uint64_t end, bool urgent,
        FetchDone done)
      : object_(std::move(object)),
        client_(object_->client()),
        begin_(begin),
        end_(end),
        urgent_(urgent),
        done_(std::move(done)) {}

  // An exception from it ends the fetch, as somebody waits for that.
  void attempt() noexcept {
    guarded([this] { try_once(); });
  }

 private:
  template <class Step>
  void guarded(Step step) noexcept {
    if (!run_guarded("a fetch", step)) finish(fail(no_memory()));
  }

  void try_once() {
    if (object_->stale()) return finish(std::unexpected(object_->stale_error()));
    if (time_left() <= std::chrono::milliseconds(0)) return give_up();
    if (!is_signed_for_s3()) return send({});
    client_.credentials.give([self = shared_from_this()](const CredentialKeeper::Given& given) {
      self->guarded([&] {
        if (given) return self->send(*given);
        self->finish(fail(self->io_failure(given.error().text())));
      });
    });
  }

  bool is_signed_for_s3() const { return object_->asked().scheme == "s3" && !object_->redirected(); }

  void send(const std::optional<sign::Credentials>& credentials) {
    used_ = credentials;
    const Url at = object_->location();
    auto request = request_to(at);
    if (!request) return finish(std::unexpected(request.error()));
    const auto left = std::max(time_left(), std::chrono::milliseconds(100));
    const auto third = std::chrono::duration_cast<std::chrono::milliseconds>(client_.options.timeout) / 3;
    request->silence = silence_ = std::min(object_->silent() ? std::min(third, kShortTry) : third, left);
    client_.requests.fetch_add(1, std::memory_order_relaxed);
    sent_at_ = Clock::now();
    client_.transfers.start(
        *std::move(request),
        [self = shared_from_this(), at](HttpAnswer answer) {
          self->guarded([&] { self->answered(at, std::move(answer)); });
        },
        urgent_);
  }

  Wanted wanted() const {
    return {begin_ + body_.size(), end_, object_->version(), client_.options.validate_size};
  }

  // As long as something useful may still come. All silence of the tries together has a bound too: a server
  // that sends a piece of the body each time, and then nothing, would be waited for again and again.
  std::chrono::milliseconds time_left() const {
    const std::chrono::milliseconds timeout = client_.options.timeout;
    const auto until = useful_at_ + timeout;
    return std::min(std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()),
                    timeout * 4 / 3 - silent_for_);
  }

  // At the end of a try, which has been silent since the end of what it got, but for at most as long as it
  // may be.
  void note_silence(const HttpAnswer& answer) {
    const auto now = Clock::now();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now - sent_at_);
    const auto silent = answer.trouble.empty() && !answer.body.empty() ? std::chrono::milliseconds(0)
                                                                       : std::min(took, silence_);
    silent_for_ += silent;
    if (!answer.body.empty()) useful_at_ = std::max(useful_at_, now - silent);
  }

  Result<HttpRequest> request_to(const Url& at) {
    const Wanted range = wanted();
    HttpRequest out;
    out.url = at.sent();
    out.headers = {{"Range", fmt::format("bytes={}-{}", range.begin, range.end - 1)},
                   {"Accept-Encoding", "identity"}};
    out.most_bytes = static_cast<std::size_t>(range.end - range.begin);
    out.fresh = tries_ > 0;
    out.only_public = object_->only_public() || hop_is_public_;
    client_.secrets.add(object_->asked(), at, out);
    if (is_signed_for_s3()) {
      H5_ASSIGN(const auto signed_fields, client_.identity.sign(at, used_, std::time(nullptr)));
      out.headers.insert(out.headers.end(), signed_fields.begin(), signed_fields.end());
    }
    // The beginning of what is sent in place of a range tells what it is.
    out.on_fields = [range](long status, const Fields& fields) {
      HttpAnswer answer;
      answer.fields = fields;
      const Verdict verdict = judge(range, status, answer).verdict;
      return verdict == Verdict::Bytes || (verdict == Verdict::NoRanges && !range.known);
    };
    return out;
  }

  void note_answer(const HttpAnswer& answer) const {
    if (!log_enabled(LogLevel::Debug)) return;
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - sent_at_);
    const Wanted range = wanted();
    log(LogLevel::Debug, "{}: bytes {} to {}: {}, {} bytes in {} ms, try {}{}{}", object_->shown(),
        range.begin, range.end, answer.status, answer.body.size(), time.count(), tries_ + 1,
        answer.trouble.empty() ? "" : ": ", answer.trouble);
  }

  void answered(const Url& at, HttpAnswer answer) {
    note_answer(answer);
    client_.bytes.fetch_add(answer.body.size(), std::memory_order_relaxed);
    note_silence(answer);
    if (answer.refused_private)
      return finish(
          std::unexpected(io_failure("a redirect from a public to a private address is not followed")));
    if (answer.status == 0) return again(answer, answer.trouble);
    if (follow_region(answer)) return attempt();
    const Judged judged = judge(wanted(), answer.status, answer);
    switch (judged.verdict) {
      case Verdict::Bytes:
        return take(judged, answer);
      case Verdict::Empty:
        object_->set_version(judged.version);
        return finish(std::string());
      case Verdict::Again:
        return again(answer, judged.why);
      case Verdict::Redirect:
        return follow(at, answer);
      case Verdict::Denied:
        if (renew() || renew_credentials()) return attempt();
        return finish(fail(Error(ErrorCode::AccessDenied, object_->shown() + ": " + judged.why)));
      case Verdict::Gone:
        if (renew()) return attempt();
        return finish(fail(Error(object_->version() ? ErrorCode::Stale : ErrorCode::NotFound,
                                 object_->shown() + ": " + judged.why)));
      case Verdict::Changed:
        object_->make_stale();
        return finish(fail(object_->stale_error()));
      case Verdict::NoRanges:
        if (const auto format = foreign_format(answer.body))
          return finish(fail(Error(ErrorCode::BadSignature, object_->shown() + " is " + *format)));
        return finish(fail(io_failure(judged.why)));
      case Verdict::Refused:
        return finish(fail(io_failure(judged.why)));
    }
  }

  // Bytes that came before an answer broke are of the right version too, so the next try asks for the rest.
  void take(const Judged& judged, HttpAnswer& answer) {
    if (!object_->version()) object_->set_version(judged.version);
    end_ = std::min(end_, judged.version.length);
    if (!answer.body.empty()) object_->set_silent(false);
    if (body_.empty())
      body_ = std::move(answer.body);
    else
      body_ += answer.body;
    if (begin_ + body_.size() == end_) return finish(std::move(body_));
    again(answer, answer.trouble.empty() ? "the answer ends too early" : answer.trouble);
  }

  void again(const HttpAnswer& answer, const std::string& why) {
    why_ = why;
    if (++tries_ >= (object_->silent() ? 1 : kMaxTries)) return give_up();
    client_.retries.fetch_add(1, std::memory_order_relaxed);
    const auto pause = pause_before(tries_, answer);
    if (pause >= time_left()) {
      if (answer.status == 0) object_->set_silent(true);  // the remaining time is too short for another try
      return give_up();
    }
    silent_for_ += pause;
    client_.transfers.later(pause, [self = shared_from_this()] { self->attempt(); });
  }

  void give_up() {
    if (time_left() <= std::chrono::milliseconds(0) || silent_for_ >= client_.options.timeout)
      object_->set_silent(true);
    finish(fail(io_failure(why_.empty() ? "no answer" : why_)));
  }

  bool follow_region(const HttpAnswer& answer) {
    return object_->asked().scheme == "s3" && hops_ < kMaxHops && client_.identity.take_region(answer) &&
           ++hops_ > 0;
  }

  void follow(const Url& at, const HttpAnswer& answer) {
    if (++hops_ > kMaxHops) return finish(fail(io_failure("more than ten redirects")));
    const auto next = resolve(at, *answer.field("location"));
    if (!next) return finish(fail(io_failure("a redirect that is not followed: " + next.error().text())));
    hop_is_public_ = hop_is_public_ || !is_private_address(answer.address);
    object_->set_location(*next, hop_is_public_);
    attempt();
  }

  // Goes back to the user's URL, once per request: the URL that a redirect led to may have expired.
  bool renew() {
    if (std::exchange(renewed_, true) || !object_->redirected()) return false;
    object_->forget_location();
    hop_is_public_ = false;
    return true;
  }

  bool renew_credentials() {
    return is_signed_for_s3() && !std::exchange(asked_anew_, true) && client_.credentials.renew(used_);
  }

  Error io_failure(const std::string& why) const { return {ErrorCode::Io, object_->shown() + ": " + why}; }

  // `done` tells a failure also where it throws (Segments::take).
  void finish(Result<std::string> out) noexcept {
    const auto done = std::exchange(done_, nullptr);
    if (done) run_guarded("a fetch", [&] { done(std::move(out)); });
  }

  const std::shared_ptr<FarObject> object_;
  ClientParts& client_;
  const std::uint64_t begin_;
  std::uint64_t end_;
  const bool urgent_;
  FetchDone done_;
  std::string body_;
  std::string why_;
  std::optional<sign::Credentials> used_;  // signed the last request
  unsigned tries_ = 0, hops_ = 0;
  bool renewed_ = false, asked_anew_ = false, hop_is_public_ = false;
  Clock::time_point useful_at_ = Clock::now(), sent_at_;
  std::chrono::milliseconds silence_{0};     // how long the last try might be silent
  std::chrono::milliseconds silent_for_{0};  // all tries and pauses together
};

}  // namespace

void fetch(std::shared_ptr<FarObject> object, std::uint64_t begin, std::uint64_t end, bool urgent,
           FetchDone done) {
  std::make_shared<Fetch>(std::move(object), begin, end, urgent, std::move(done))->attempt();
}

}  // namespace h5mount::remote
