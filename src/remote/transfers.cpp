#include "transfers.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "h5mount/base/long_work.h"
#include "h5mount/base/thread.h"
#include "h5mount/remote/url.h"

namespace h5mount::remote {
namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr std::size_t kMaxFieldBytes = 64U << 10;
constexpr double kUsefulBytesPerSecond = 1000;

std::string lower_text(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed_field(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

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
  for (const auto& [other, value] : fields)
    if (other == name) return &value;
  return nullptr;
}

struct Transfers::Transfer {
  HttpRequest request;
  Done done;
  bool urgent = false;
  HttpAnswer answer;
  curl_slist* headers = nullptr;
  CURL* handle = nullptr;
  std::size_t field_bytes = 0;
  bool told = false, too_long = false, not_wanted = false;
  Clock::time_point useful_at;   // when it last received enough bytes
  std::size_t useful_bytes = 0;  // how many bytes it had then

  ~Transfer() {
    curl_slist_free_all(headers);
    if (handle != nullptr) curl_easy_cleanup(handle);
  }

  // Of the whole body, as far as it is known and wanted.
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
    if (colon != std::string_view::npos)
      self.answer.fields.emplace_back(lower_text(line.substr(0, colon)),
                                      trimmed_field(line.substr(colon + 1)));
    return size;
  }

  static std::size_t on_body(char* text, std::size_t, std::size_t size, void* self_pointer) {
    auto& self = *static_cast<Transfer*>(self_pointer);
    if (!self.told) {
      self.told = true;
      curl_easy_getinfo(self.handle, CURLINFO_RESPONSE_CODE, &self.answer.status);
      if (self.request.on_fields && !self.request.on_fields(self.answer.status, self.answer.fields)) {
        self.not_wanted = true;
        return 0;
      }
      self.answer.body.reserve(self.body_bytes());
    }
    if (size > self.request.most_bytes - self.answer.body.size()) {
      self.too_long = true;
      return 0;
    }
    self.answer.body.append(text, size);
    self.note_progress(Clock::now());
    return size;
  }

  // Called before the request is sent.
  static int on_connected(void* self_pointer, char* address, char*, int, int) {
    auto& self = *static_cast<Transfer*>(self_pointer);
    self.answer.address = address;
    self.answer.refused_private = self.request.only_public && is_private_address(address);
    return self.answer.refused_private ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
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
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  transfer->urgent = urgent;
  {
    const MutexLock lock(mutex_);
    if (!stop_) added_.push_back(std::move(transfer));
    if (!stop_ && !std::exchange(started_, true)) thread_ = start_thread("h5-fetch", [this] { run(); });
  }
  if (transfer) return refuse(*transfer);
  wake();
}

HttpAnswer Transfers::ask(HttpRequest request) {
  Mutex mutex;
  Condition came;
  std::optional<HttpAnswer> out;
  note_long_work();
  start(
      std::move(request),
      [&](HttpAnswer answer) {
        const MutexLock lock(mutex);
        out = std::move(answer);
        came.notify_all();
      },
      true);
  MutexLock lock(mutex);
  while (!out) came.wait(lock);
  return *std::move(out);
}

void Transfers::later(Clock::duration delay, std::function<void()> call) {
  {
    const MutexLock lock(mutex_);
    added_calls_.emplace_back(Clock::now() + delay, std::move(call));
  }
  wake();
}

void Transfers::take_new() {
  std::deque<std::unique_ptr<Transfer>> added;
  {
    const MutexLock lock(mutex_);
    added.swap(added_);
    for (auto& [when, call] : added_calls_) due_.emplace(when, std::move(call));
    added_calls_.clear();
  }
  for (auto& transfer : added) {
    const auto place = transfer->urgent
                           ? std::ranges::find_if(waiting_, [](const auto& other) { return !other->urgent; })
                           : waiting_.end();
    waiting_.insert(place, std::move(transfer));
  }
  while (active_.size() < most_at_once_ && !waiting_.empty()) {
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    if (active_.empty()) rounds_.fetch_add(1, std::memory_order_relaxed);
    begin(std::move(next));
  }
}

void Transfers::begin(std::unique_ptr<Transfer> transfer) {
  CURL* const handle = curl_easy_init();
  Transfer& self = *transfer;
  const HttpRequest& request = self.request;
  self.handle = handle;
  self.useful_at = Clock::now();
  for (const auto& [name, value] : request.headers)
    self.headers = curl_slist_append(self.headers, (name + ": " + value).c_str());
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, self.headers);
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 256L << 10);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "h5mount/" H5MOUNT_VERSION);
  curl_easy_setopt(handle, CURLOPT_SHARE, handles_.share);
  curl_easy_setopt(handle, CURLOPT_COOKIEFILE, "");
  curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, request.fresh ? 1L : 0L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.silence.count()));
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  if (request.method != "GET") curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.body.empty()) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  if (request.direct) curl_easy_setopt(handle, CURLOPT_PROXY, "");
  if (!request.user.empty()) {
    curl_easy_setopt(handle, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    curl_easy_setopt(handle, CURLOPT_USERNAME, request.user.c_str());
    curl_easy_setopt(handle, CURLOPT_PASSWORD, request.password.c_str());
  }
  if (const char* file = environment_text({"CURL_CA_BUNDLE", "SSL_CERT_FILE", "AWS_CA_BUNDLE"}))
    curl_easy_setopt(handle, CURLOPT_CAINFO, file);
  if (const char* directory = environment_text({"SSL_CERT_DIR"}))
    curl_easy_setopt(handle, CURLOPT_CAPATH, directory);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, Transfer::on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &self);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, Transfer::on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &self);
  curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, Transfer::on_connected);
  curl_easy_setopt(handle, CURLOPT_PREREQDATA, &self);
  active_.emplace(handle, std::move(transfer));
  curl_multi_add_handle(handles_.multi, handle);
}

void Transfers::finish(CURL* handle, CURLcode code) {
  const auto found = active_.find(handle);
  std::unique_ptr<Transfer> transfer = std::move(found->second);
  active_.erase(found);
  HttpAnswer& answer = transfer->answer;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.status);
  curl_multi_remove_handle(handles_.multi, handle);
  // If the receiver did not want the body, there is no trouble: the status and fields suffice.
  if (code != CURLE_OK && !transfer->not_wanted) {
    answer.trouble = transfer->too_long ? "its body is longer than what was asked for"
                                        : std::string(curl_easy_strerror(code));
  }
  transfer->done(std::move(answer));
}

void Transfers::end_silent(Clock::time_point now) {
  std::vector<CURL*> silent;
  for (const auto& [handle, transfer] : active_)
    if (now - transfer->useful_at > transfer->request.silence) silent.push_back(handle);
  for (CURL* const handle : silent) finish(handle, CURLE_OPERATION_TIMEDOUT);
}

void Transfers::run_due(Clock::time_point now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto call = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    call();
  }
}

void Transfers::refuse(Transfer& transfer) {
  transfer.answer.trouble = "the program ends";
  transfer.done(std::move(transfer.answer));
}

// Ends all transfers, so that those who wait for them continue.
void Transfers::end_all() {
  while (!active_.empty()) finish(active_.begin()->first, CURLE_ABORTED_BY_CALLBACK);
  {
    const MutexLock lock(mutex_);
    for (auto& transfer : added_) waiting_.push_back(std::move(transfer));
    added_.clear();
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
    take_new();
    int running = 0, left = 0;
    curl_multi_perform(handles_.multi, &running);
    while (const CURLMsg* const message = curl_multi_info_read(handles_.multi, &left))
      if (message->msg == CURLMSG_DONE) finish(message->easy_handle, message->data.result);
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
  end_all();
}

}  // namespace h5mount::remote
