// Pages of a bucket's keys.
#include "client.h"

#include <algorithm>
#include <ctime>
#include <thread>

#include "aws/listing_xml.h"
#include "h5mount/base/log.h"
#include "transport/answer.h"

namespace h5mount::remote {
namespace {

// Suffices for a thousand keys of 1,024 bytes, which are up to three times as long when encoded, and the
// facts of each.
constexpr std::size_t kMaxPageBytes = 8U << 20;
constexpr unsigned kMaxRegions = 3;

class Listing {
 public:
  Listing(ClientParts& client, const Url& prefix, const ListQuery& query)
      : client_(client), prefix_(prefix), whole_(prefix.target + query.begin), query_(query) {}

  Result<ListedPage> get() {
    const auto until = Clock::now() + client_.options.timeout;
    for (unsigned tries = 1;; ++tries) {
      H5_ASSIGN(const HttpAnswer answer, ask(until - Clock::now()));
      auto page = read(answer);
      if (page || !again_) return page;
      const auto pause = pause_before(tries, answer);
      if (tries == kMaxTries || Clock::now() + pause >= until) return page;
      client_.retries.fetch_add(1, std::memory_order_relaxed);
      std::this_thread::sleep_for(pause);
    }
  }

 private:
  // Gets an answer from the bucket's own region; if credentials are refused, they are renewed once.
  Result<HttpAnswer> ask(Clock::duration left) {
    for (unsigned regions = 0;; ++regions) {
      H5_ASSIGN(HttpRequest request, signed_request());
      const auto third = std::chrono::duration_cast<std::chrono::milliseconds>(client_.options.timeout) / 3;
      request.silence = std::min(third, std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left),
                                                 std::chrono::milliseconds(100)));
      const auto sent = Clock::now();
      client_.requests.fetch_add(1, std::memory_order_relaxed);
      HttpAnswer answer = client_.transfers.ask(std::move(request));
      client_.bytes.fetch_add(answer.body.size(), std::memory_order_relaxed);
      const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - sent);
      log(LogLevel::Debug, "{}: names: {}, {} bytes in {} ms{}{}", prefix_.shown(), answer.status,
          answer.body.size(), time.count(), answer.trouble.empty() ? "" : ": ", answer.trouble);
      if (regions == kMaxRegions) return answer;
      const bool refused = answer.status == 401 || answer.status == 403;
      const bool renewed = refused && !std::exchange(renewed_, true) && client_.credentials.renew(used_);
      if (!client_.identity.take_region(answer) && !renewed) return answer;
    }
  }

  Result<HttpRequest> signed_request() {
    const Fields query{{"continuation-token", query_.next},
                       {"delimiter", "/"},
                       {"encoding-type", "url"},
                       {"list-type", "2"},
                       {"max-keys", std::to_string(query_.most)},
                       {"prefix", whole_}};
    Fields sent;
    for (const auto& field : query)
      if (!field.second.empty()) sent.push_back(field);
    Url bucket = prefix_;
    bucket.target.clear();
    Url at = client_.identity.place_of(bucket);
    at.target += "?" + encode_query(sent);
    HttpRequest out;
    out.url = at.sent();
    out.most_bytes = kMaxPageBytes;
    H5_ASSIGN(used_, client_.credentials.wait());
    H5_ASSIGN(out.headers, client_.identity.sign(at, used_, std::time(nullptr)));
    out.headers.emplace_back("Accept-Encoding", "identity");
    client_.secrets.add(prefix_, at, out);
    return out;
  }

  Result<ListedPage> read(const HttpAnswer& answer) {
    again_ = true;
    if (!answer.trouble.empty()) return fail(failure(ErrorCode::Io, answer.trouble));
    if (answer.status == 200) {
      auto page = parse_listing(answer.body, whole_, query_.most);
      if (!page) return fail(failure(ErrorCode::Io, page.error().text()));
      again_ = false;
      if (!page->next.empty() && page->next == query_.next)
        return fail(failure(ErrorCode::Io, "a page of names leads to itself"));
      for (ListedName& one : page->names) one.name.insert(0, query_.begin);
      return page;
    }
    const Judged judged = judge_failure(answer.status, answer);
    again_ = judged.verdict == Verdict::Again;
    if (judged.verdict == Verdict::Denied) return fail(failure(ErrorCode::AccessDenied, judged.why));
    // The code is not NotFound: a bucket that does not exist must not be taken for an empty directory.
    return fail(failure(ErrorCode::Io, judged.why.empty() ? "it leads elsewhere" : judged.why));
  }

  Error failure(ErrorCode code, const std::string& why) const {
    return {code, prefix_.shown() + " cannot be listed: " + why};
  }

  ClientParts& client_;
  const Url prefix_;
  const std::string whole_;  // the beginning of all keys
  const ListQuery query_;
  std::optional<sign::Credentials> used_;  // signed the last request
  bool renewed_ = false;
  bool again_ = false;  // whether asking again may help
};

}  // namespace

Result<ListedPage> list_bucket(ClientParts& client, const Url& prefix, const ListQuery& query) {
  return Listing(client, prefix, query).get();
}

}  // namespace h5mount::remote
