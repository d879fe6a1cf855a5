#include "remote_files.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "h5mount/base/foreign_format.h"
#include "h5mount/base/hash.h"
#include "h5mount/base/log.h"
#include "h5mount/base/text.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/uri.h"
#include "h5mount/object/file_set.h"

namespace h5mount::cli {
namespace {

// The client of this program. It is never destroyed: its sources may be destroyed in its own thread.
struct OneClient {
  Mutex mutex;
  std::shared_ptr<remote::Client> client H5_GUARDED_BY(mutex);
};

OneClient& one_client() {
  static OneClient* const only = new OneClient;
  return *only;
}

std::shared_ptr<remote::Client> client_so_far() {
  OneClient& only = one_client();
  const MutexLock lock(only.mutex);
  return only.client;
}

Result<std::shared_ptr<remote::Client>> client_for(const remote::Options& options) {
  OneClient& only = one_client();
  const MutexLock lock(only.mutex);
  if (!only.client) {
    auto made = remote::Client::make(options);
    if (!made) return fail(Error(ErrorCode::Io, made.error().text()));
    only.client = *std::move(made);
    ::prctl(PR_SET_DUMPABLE, 0);  // credentials are in its memory from now on
  }
  return only.client;
}

std::string directory_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

// The path that a name in a file stands for, beneath the file's own directory; of an absolute name only the
// last component is used, as in libhdf5. Empty if the name would lead elsewhere.
std::string beneath(std::string_view name) {
  if (name.starts_with('/')) name = name.substr(name.rfind('/') + 1);
  for (std::string_view rest = name; !rest.empty();) {
    if (take_until(rest, '/') == "..") return {};
  }
  return std::string(name);
}

class RemoteOpener final : public object::SourceOpener {
 public:
  RemoteOpener(object::ExternalAccess access, std::shared_ptr<remote::Client> client)
      : access_(std::move(access)), client_(std::move(client)) {}

  const object::ExternalAccess& access() const override { return access_; }

  Result<object::FoundSource> find_main(const std::string& name) override {
    H5_ASSIGN(main_, remote::parse_url(name));
    H5_ASSIGN(main_source_, client_->open(main_));
    return found(main_, main_source_);
  }

  Result<object::FoundSource> find_named(const object::OpenedFile& from, std::string_view name,
                                         object::NameUse) const override {
    if (access_.policy == object::ExternalPolicy::None)
      return fail(Error(ErrorCode::AccessDenied, std::string(name) + " is not opened: external=none"));
    const std::string below = remote::is_url(name) ? std::string() : beneath(name);
    if (below.empty())
      return fail(Error(ErrorCode::AccessDenied, std::string(name) + " is not beneath " + from.directory));
    remote::Url url = main_;
    const std::string path = url.target.substr(0, url.target.find('?'));
    url.target = directory_of(path) + (url.scheme == "s3" ? below : encode_path(below));
    H5_ASSIGN(auto source, client_->open(url));
    warn_of_versions(*source);
    return found(url, std::move(source));
  }

  void warn_of_versions() const {
    if (main_source_) warn_of_versions(*main_source_);
  }

  // The format of the main object if it is no HDF5 file but known.
  std::optional<std::string> foreign() const {
    if (!main_source_) return std::nullopt;
    std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(main_source_->size(), kForeignHead)),
                     '\0');
    if (!main_source_->read_at(0, std::as_writable_bytes(std::span(head)))) return std::nullopt;
    const auto format = foreign_content(head);
    return format ? std::optional(main_.shown() + " is " + *format) : std::nullopt;
  }

 private:
  // Once for a server, as all that it has is alike.
  void warn_of_versions(const io::ByteSource& source) const {
    if (!client_->versions_unknown(source)) return;
    log_once(
        LogLevel::Warning,
        source.name() +
            ": the server says nothing that tells its versions apart (no strong ETag, no time older than "
            "a minute): if it is replaced, what is read may be mixed of both; validate=size says that "
            "this is known",
        0, "versions at " + main_.origin());
  }

  static Result<object::FoundSource> found(const remote::Url& url, std::shared_ptr<io::ByteSource> source) {
    H5_ASSIGN(const io::SourceStamp stamp, source->state().stamp());
    object::FileAttributes attributes{::geteuid(), ::getegid(), 0444, stamp.modified / 1'000'000'000,
                                      static_cast<std::uint32_t>(stamp.modified % 1'000'000'000)};
    return object::FoundSource{
        url.shown(),
        url.shown(),
        directory_of(url.shown()),
        {},
        attributes,
        [source = std::move(source)]() mutable -> Result<std::shared_ptr<io::ByteSource>> {
          return std::move(source);
        }};
  }

  const object::ExternalAccess access_;
  const std::shared_ptr<remote::Client> client_;
  remote::Url main_;
  std::shared_ptr<io::ByteSource> main_source_;
};

}  // namespace

Status prepare_urls(const std::vector<std::string>& paths, const remote::Options& options) {
  bool any = false, s3 = false;
  for (const std::string& path : paths) {
    if (!remote::is_url(path)) continue;
    any = true;
    const auto url = remote::parse_url(path);
    s3 = s3 || (url && url->scheme == "s3");
  }
  if (!any) return {};
  H5_ASSIGN(const auto client, client_for(options));
  return s3 ? client->prepare_s3() : Status{};
}

Result<std::shared_ptr<object::SourceOpener>> make_remote_opener(const object::ExternalAccess& access,
                                                                 const remote::Options& options) {
  H5_ASSIGN(auto client, client_for(options));
  return std::make_shared<RemoteOpener>(access, std::move(client));
}

Error why_not_opened(const object::SourceOpener& opener, const Error& error) {
  const auto* const far = dynamic_cast<const RemoteOpener*>(&opener);
  if (far == nullptr || error.code() != ErrorCode::BadSignature) return error;
  const auto format = far->foreign();
  return format ? Error(ErrorCode::BadSignature, *format) : error;
}

void warn_of_versions(const object::SourceOpener& opener) {
  if (const auto* const far = dynamic_cast<const RemoteOpener*>(&opener)) far->warn_of_versions();
}

void finish_remote() {
  if (const auto client = client_so_far()) client->finish();
}

Result<tree::ForestDirectoryPtr> make_prefix_directory(const std::string& url, tree::ShownFiles shown,
                                                       const remote::Options& options, tree::OpenNamed open) {
  H5_ASSIGN(const auto client, client_for(options));
  H5_ASSIGN(const remote::Url top, remote::parse_url(url));
  tree::ListedFiles out;
  out.name = top.shown();
  out.shown = std::move(shown);
  out.list = [client, top](const std::string& directory, const std::string& begin, const std::string& next,
                           unsigned most) -> Result<tree::ListedPage> {
    remote::Url at = top;
    at.target += directory;
    H5_ASSIGN(remote::ListedPage page, client->list(at, {begin, next, most}));
    tree::ListedPage listed{{}, std::move(page.next)};
    for (remote::ListedName& one : page.names)
      listed.names.push_back(
          {std::move(one.name), one.directory, one.size, one.modified, fnv1a(one.entity_tag)});
    return listed;
  };
  out.open = [url, open = std::move(open)](const std::string& path) { return open(url + path); };
  out.open_plain = [client, top](const std::string& path) {
    remote::Url at = top;
    at.target += path;
    return client->open(at);
  };
  return tree::make_listed_directory(std::move(out));
}

Status check_prefix(const std::string& url, const tree::ShownFiles& shown, const remote::Options& options) {
  constexpr unsigned kNames = 1000;  // as many as come by one request
  H5_ASSIGN(const auto client, client_for(options));
  H5_ASSIGN(const remote::Url top, remote::parse_url(url));
  const auto page = client->list(top, {.begin = {}, .next = {}, .most = kNames});
  if (!page) return fail(Error(ErrorCode::Io, page.error().text()));
  if (page->names.empty()) return fail(Error(ErrorCode::NotFound, "no key begins as " + top.shown()));
  if (!page->next.empty()) return {};  // what is left out is counted when the names are listed
  tree::ForestDirectory::LeftOut left_out;
  bool shows = false;
  for (const remote::ListedName& one : page->names) {
    if (!one.directory && one.name.empty()) continue;
    if (one.directory || shown.kind_of(one.name))
      shows = true;
    else
      left_out.add(one.name);
  }
  tree::tell_of_left_out(top.shown(), left_out, shows ? tree::ShowsSomething::Yes : tree::ShowsSomething::No);
  return {};
}

remote::Counters remote_counters() {
  const auto client = client_so_far();
  return client ? client->counters() : remote::Counters{};
}

bool uses_remote() {
  return client_so_far() != nullptr;
}

void hide_secrets(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (!remote::is_url(word) || word.starts_with("s3://")) continue;
    const std::size_t begin = word.find("://") + 3;
    const std::size_t query = word.find('?'), end = std::min(word.find_first_of("/?#", begin), word.size());
    const std::size_t at = word.rfind('@', end);
    if (at != std::string::npos && at > begin && at < end) std::memset(words[i] + begin, 'x', at - begin);
    if (query != std::string::npos) std::memset(words[i] + query + 1, 'x', word.size() - query - 1);
  }
}

}  // namespace h5mount::cli
