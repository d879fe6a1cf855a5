// Exchange: one request and its answer on a connection of libmicrohttpd. The event loop suspends the
// connection while a thread of the queue makes the answer or reads the next part of its body, so at any time
// either the loop or one job uses an exchange. What local sources can answer at once the loop answers itself
// (RequestWork::begin_quick_job). Nothing of the cache is held between two reads of a body, so a slow client
// holds its buffer only.
#pragma once

#include <microhttpd.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "connections.h"
#include "h5mount/base/job_queue.h"
#include "message.h"
#include "request_work.h"
#include "writable_wait.h"

namespace h5mount::serve {

// Loads libmicrohttpd, which comes before every use of it. Errors: UnsupportedFeature. Threads: any.
Status load_libmicrohttpd();

// Makes the answer to an error that ended the work on an answer, in that answer's form.
using FailedAnswer = std::function<Answer(const Request&, const Answer& instead_of, const Error&)>;

// The parts that the exchanges of a server share.
struct ExchangeContext {
  std::function<Answer(const Request&, RequestWork&)> answer;
  FailedAnswer failed;
  JobQueue& quick_jobs;
  JobQueue& long_jobs;  // for requests that have taken long before
  Connections& connections;
  WritableWait& writable;
  std::chrono::milliseconds work_deadline;
  bool local;                                 // whether all sources are: see OpenedSource
  std::shared_ptr<cache::BlockCache> memory;  // that chunks are made in; may be null
  std::function<void(const std::string&)> log_answer;
  std::atomic<bool> draining = false;
};

class Exchange {
 public:
  Exchange(ExchangeContext& context, MHD_Connection* connection, std::string target);

  // Called by the loop until an answer is queued: first with the header, then at the end of the request, then
  // when the connection is resumed. `url` and `version` are as libmicrohttpd passes them.
  // Without memory for it the connection is closed.
  MHD_Result advance(const char* method, const char* url, const char* version, std::size_t uploaded) noexcept;
  // Called when the answer was sent, or could not be sent.
  void end(MHD_RequestTerminationCode how);

 private:
  enum class Stage { Begun, Complete, Answered };
  static ssize_t read_body(void* self, std::uint64_t position, char* out, std::size_t most);
  static MHD_Result take_header(void* self, MHD_ValueKind kind, const char* name, const char* value);

  MHD_Result next(const char* method, const char* url, const char* version, std::size_t uploaded);
  MHD_Result begin(const char* method, const char* url, const char* version);
  MHD_Result refuse(Answer answer);
  bool is_cut(const char* url, const char* version) const;
  bool answer_here();
  void new_work();
  void make_answer() noexcept;
  void answer_request();
  Status make_whole();
  Status make_beginning();
  Status fill();
  bool fill_at_once();
  template <class Make>
  void guard_body(Make make) noexcept;
  std::size_t block_bytes() const;
  MHD_Result send();
  void suspend_for(void (Exchange::*job)() noexcept) noexcept;
  void give_up() noexcept;
  JobQueue& jobs();
  void fill_more() noexcept;
  std::uint64_t stored_bytes(std::optional<std::uint64_t> size) const;
  void submit_stored() noexcept;
  void send_more_stored() noexcept;
  Status send_stored();
  ssize_t read(char* out, std::size_t most) noexcept;
  Connection* connection() const;

  ExchangeContext& context_;
  MHD_Connection* const connection_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Stage stage_ = Stage::Begun;
  Request request_;
  std::optional<RequestWork> work_;
  Answer answer_;
  std::vector<std::byte> buffer_;        // the next bytes of the body
  std::size_t filled_ = 0, given_ = 0;   // bytes in the buffer, and those already sent
  bool ended_ = false, failed_ = false;  // state of the body
  bool broken_ = false;                  // there was no memory for an answer
  bool refused_ = false;                 // the connection cannot be used for another request
  bool whole_ = false;                   // the buffer is the whole body, and is sent as it is
  std::uint64_t stored_ = 0;  // the next bytes of the body: they are sent from the file's own pages
  std::uint64_t sent_ = 0;
};

}  // namespace h5mount::serve
