#include "transfers.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "h5mount/base/text.h"
#include "h5mount/base/thread.h"
#include "h5mount/remote/url.h"
#include "wait_for.h"

namespace h5mount::remote {
namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr std::size_t kMaxFieldBytes = 64U << 10;
constexpr double kUsefulBytesPerSecond = 1000;

const char* environment_text(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return nullptr;
}

struct GlobalCurl {
  GlobalCurl() { curl_global_init(CURL_GLOBAL_DEFAULT); }
};

}  // namespace

const std::string* HttpAnswer::field(std::string_view name) const {
  return find_parameter(fields, name);
}

// Without memory for it: a shorter word, which needs none.
void HttpAnswer::set_trouble(const char* why) noexcept try { trouble = why; } catch (const std::bad_alloc&) {
  trouble = "no memory";
}

struct Transfers::Transfer {
  HttpRequest request;
  Done done;
  bool urgent = false;
  HttpAnswer answer;
  curl_slist* headers = nullptr;
  CURL* handle = nullptr;
  std::size_t field_bytes = 0;
  bool told = false, too_long = false, not_wanted = false, no_memory = false;
  List::iterator place;          // in `active_`
  Clock::time_point useful_at;   // when it last received enough bytes
  std::size_t useful_bytes = 0;  // how many bytes it had then

  ~Transfer() {
    curl_slist_free_all(headers);
    if (handle != nullptr) curl_easy_cleanup(handle);
  }

  // The length of the whole body, as far as it is known and wanted.
  std::size_t body_bytes() const {
    curl_off_t length = 0;
    curl_easy_getinfo(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return std::min(request.most_bytes, static_cast<std::size_t>(std::max<curl_off_t>(length, 0)));
  }

  void note_progress(Clock::time_point now) {
    const double seconds = std::chrono::duration<double>(now - useful_at).count();
    const std::size_t more = answer.body.size() - useful_bytes;
    if (more == 0 || static_cast<double>(more) < kUsefulBytesPerSecond * seconds) return;
    useful_at = now;
    useful_bytes = answer.body.size();
  }

  // No exception may pass through libcurl, which calls what follows: one ends the transfer.
  template <class Step>
  bool guarded(Step&& step) noexcept {
    no_memory = !run_guarded("h5-fetch", std::forward<Step>(step)) || no_memory;
    return !no_memory;
  }

  void tell() noexcept {
    run_guarded("h5-fetch", [this] { done(std::move(answer)); });
  }

  static std::size_t on_header(char* text, std::size_t, std::size_t size, void* self_pointer) {
    auto& self = *static_cast<Transfer*>(self_pointer);
    const std::string_view line(text, size);
    self.field_bytes += size;
    if (self.field_bytes > kMaxFieldBytes) return 0;
    if (line.starts_with("HTTP/")) {  // a proxy's answer, or "100 Continue", is followed by another one
      self.answer.fields.clear();
      return size;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return size;
    const bool added = self.guarded([&] {
      self.answer.fields.emplace_back(to_lower(line.substr(0, colon)),
                                      trim(line.substr(colon + 1), " \t\r\n"));
    });
    return added ? size : 0;
  }

  static std::size_t on_body(char* text, std::size_t, std::size_t size, void* self_pointer) {
    auto& self = *static_cast<Transfer*>(self_pointer);
    bool taken = false;
    self.guarded([&] { taken = self.take({text, size}); });
    return taken ? size : 0;
  }

  bool take(std::string_view part) {
    if (!told) {
      told = true;
      curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.status);
      if (request.on_fields && !request.on_fields(answer.status, answer.fields)) {
        not_wanted = true;
        return false;
      }
      answer.body.reserve(body_bytes());
    }
    if (part.size() > request.most_bytes - answer.body.size()) {
      too_long = true;
      return false;
    }
    answer.body.append(part);
    note_progress(Clock::now());
    return true;
  }

  // Called before the request is sent.
  static int on_connected(void* self_pointer, char* address, char*, int, int) {
    auto& self = *static_cast<Transfer*>(self_pointer);
    const bool known = self.guarded([&] {
      self.answer.address = address;
      self.answer.refused_private = self.request.only_public && is_private_address(address);
    });
    return known && !self.answer.refused_private ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
  }
};

Transfers::Handles::Handles()
    : multi([] {
        static const GlobalCurl global;
        return curl_multi_init();
      }()),
      share(curl_share_init()) {
  curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
  curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

Transfers::Handles::~Handles() {
  curl_multi_cleanup(multi);
  curl_share_cleanup(share);
}

Transfers::Transfers(unsigned most_at_once) : most_at_once_(most_at_once) {
  curl_multi_setopt(handles_.multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(most_at_once));
  // Otherwise libcurl keeps four for each request that is under way now, and closes others as the last
  // requests of many end.
  curl_multi_setopt(handles_.multi, CURLMOPT_MAXCONNECTS, static_cast<long>(most_at_once));
}

Transfers::~Transfers() {
  end();
}

void Transfers::end() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

void Transfers::wake() {
  curl_multi_wakeup(handles_.multi);
}

void Transfers::start(HttpRequest request, Done done, bool urgent) {
  List one;
  Transfer& transfer = *one.emplace_back(std::make_unique<Transfer>());
  transfer.request = std::move(request);
  transfer.done = std::move(done);
  transfer.urgent = urgent;
  {
    const MutexLock lock(mutex_);
    if (!stop_ && !started_) {
      thread_ = start_thread("h5-fetch", [this] { run(); });
      started_ = true;
    }
    if (!stop_) added_.splice(added_.end(), one);
  }
  if (!one.empty()) return refuse(transfer);
  wake();
}

HttpAnswer Transfers::ask(HttpRequest request) {
  return wait_for<HttpAnswer>([&](auto done) { start(std::move(request), done, true); });
}

void Transfers::later(Clock::duration delay, std::function<void()> call) {
  {
    const MutexLock lock(mutex_);
    added_calls_.emplace(Clock::now() + delay, std::move(call));
  }
  wake();
}

void Transfers::take_new() {
  List added;
  {
    const MutexLock lock(mutex_);
    added.swap(added_);
    due_.merge(added_calls_);
  }
  while (!added.empty()) {
    const auto place = added.front()->urgent
                           ? std::ranges::find_if(waiting_, [](const auto& other) { return !other->urgent; })
                           : waiting_.end();
    waiting_.splice(place, added, added.begin());
  }
  while (active_.size() < most_at_once_ && !waiting_.empty()) {
    if (active_.empty()) rounds_.fetch_add(1, std::memory_order_relaxed);
    active_.splice(active_.end(), waiting_, waiting_.begin());
    begin(std::prev(active_.end()));
  }
}

void Transfers::begin(List::iterator place) {
  Transfer& self = **place;
  self.place = place;
  bool ready = false;
  self.guarded([&] { ready = prepare(self); });
  if (!ready || curl_multi_add_handle(handles_.multi, self.handle) != CURLM_OK)
    finish(place, CURLE_OUT_OF_MEMORY);
}

// Returns false without memory: then an option may be missing, such as that of the range that is wanted.
bool Transfers::prepare(Transfer& self) const {
  CURL* const handle = self.handle = curl_easy_init();
  if (handle == nullptr) return false;
  const HttpRequest& request = self.request;
  self.useful_at = Clock::now();
  for (const auto& [name, value] : request.headers) {
    curl_slist* const longer = curl_slist_append(self.headers, (name + ": " + value).c_str());
    if (longer == nullptr) return false;
    self.headers = longer;
  }
  bool whole = true;
  const auto set = [&](CURLoption option, auto value) {
    whole = curl_easy_setopt(handle, option, value) != CURLE_OUT_OF_MEMORY && whole;
  };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_HTTPHEADER, self.headers);
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROGRESS, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, 256L << 10);
  set(CURLOPT_USERAGENT, "h5mount/" H5MOUNT_VERSION);
  set(CURLOPT_SHARE, handles_.share);
  set(CURLOPT_COOKIEFILE, "");
  set(CURLOPT_FRESH_CONNECT, request.fresh ? 1L : 0L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.silence.count()));
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  if (request.method != "GET") set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());
  }
  if (request.direct) set(CURLOPT_PROXY, "");
  if (!request.user.empty()) {
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set(CURLOPT_USERNAME, request.user.c_str());
    set(CURLOPT_PASSWORD, request.password.c_str());
  }
  if (const char* file = environment_text({"CURL_CA_BUNDLE", "SSL_CERT_FILE", "AWS_CA_BUNDLE"}))
    set(CURLOPT_CAINFO, file);
  if (const char* directory = environment_text({"SSL_CERT_DIR"})) set(CURLOPT_CAPATH, directory);
  set(CURLOPT_HEADERFUNCTION, Transfer::on_header);
  set(CURLOPT_HEADERDATA, &self);
  set(CURLOPT_WRITEFUNCTION, Transfer::on_body);
  set(CURLOPT_WRITEDATA, &self);
  set(CURLOPT_PREREQFUNCTION, Transfer::on_connected);
  set(CURLOPT_PREREQDATA, &self);
  set(CURLOPT_PRIVATE, &self);
  return whole;
}

void Transfers::finish(List::iterator place, CURLcode code) {
  List one;
  one.splice(one.end(), active_, place);
  Transfer& transfer = *one.front();
  HttpAnswer& answer = transfer.answer;
  if (transfer.handle != nullptr) {
    curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &answer.status);
    curl_multi_remove_handle(handles_.multi, transfer.handle);
  }
  if (transfer.no_memory) code = CURLE_OUT_OF_MEMORY;
  // If the receiver did not want the body, there is no trouble: the status and fields suffice.
  if (code != CURLE_OK && !transfer.not_wanted)
    answer.set_trouble(transfer.too_long ? "its body is longer than what was asked for"
                                         : curl_easy_strerror(code));
  transfer.tell();
}

void Transfers::end_silent(Clock::time_point now) {
  for (auto at = active_.begin(); at != active_.end();) {
    const auto place = at++;
    if (now - (*place)->useful_at > (*place)->request.silence) finish(place, CURLE_OPERATION_TIMEDOUT);
  }
}

void Transfers::run_due(Clock::time_point now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto call = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    run_guarded("h5-fetch", call);
  }
}

void Transfers::refuse(Transfer& transfer) {
  transfer.answer.set_trouble("the program ends");
  transfer.tell();
}

// Ends all transfers, so that those who wait for them continue.
void Transfers::end_all() {
  while (!active_.empty()) finish(active_.begin(), CURLE_ABORTED_BY_CALLBACK);
  {
    const MutexLock lock(mutex_);
    waiting_.splice(waiting_.end(), added_);
  }
  for (const auto& transfer : waiting_) refuse(*transfer);
  waiting_.clear();
}

void Transfers::run() {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      if (stop_) break;
    }
    if (!run_guarded("h5-fetch", [this] { work(); })) std::this_thread::sleep_for(kTick);
  }
  end_all();
}

void Transfers::work() {
  take_new();
  int running = 0, left = 0;
  curl_multi_perform(handles_.multi, &running);
  while (const CURLMsg* const message = curl_multi_info_read(handles_.multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Transfer* transfer = nullptr;
    const CURLcode code = message->data.result;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    finish(transfer->place, code);
  }
  const auto now = Clock::now();
  end_silent(now);
  run_due(now);
  auto wait = active_.empty() && due_.empty() ? std::chrono::milliseconds(60'000) : kTick;
  if (!due_.empty()) {
    const auto until = std::chrono::ceil<std::chrono::milliseconds>(due_.begin()->first - now);
    wait = std::clamp(until, std::chrono::milliseconds(0), wait);
  }
  // If all active transfers ended at once, nothing else would wake this thread to start the waiting ones.
  if (!waiting_.empty() && active_.size() < most_at_once_) wait = {};
  curl_multi_poll(handles_.multi, nullptr, 0, static_cast<int>(wait.count()), nullptr);
}

}  // namespace h5mount::remote
