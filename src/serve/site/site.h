// Site: answers requests from the trees of its sources. Independent of the library that carries the messages,
// so that tests and fuzzers call it directly. Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../http/access_token.h"
#include "../http/message.h"
#include "../source/source.h"
#include "node_answers.h"

namespace h5mount::serve {

struct SiteOptions {
  std::string cors_origin;  // as in ServerOptions
  bool loopback = true;     // the Host field must be a loopback name
  std::string token = {};   // as in ServerOptions
  std::uint16_t port = 0;   // see AccessToken
};

class Site {
 public:
  // If there is one source, it is the root; several are directories in the root, and equal names get ` (2)`.
  Site(SiteOptions options, std::vector<SourceToServe> sources);

  // May take as long as reading the files takes. An answer to HEAD has the body that GET would have.
  Answer answer(const Request& request, RequestWork& work);
  // The answer to an error that ended the work on another one.
  Answer failed(const Request& request, const Answer& instead_of, const Error& error) const;

 private:
  // A request whose path has been resolved to a source.
  struct Place {
    ServedSource* source = nullptr;  // null: the listing of the sources
    std::string name;                // name of the source; empty if there is only one
    std::string file;                // name of the source's file
    std::string path;                // path in the source, decoded, as in the request
  };
  Answer answer_valid(const Request& request, RequestWork& work);
  Answer answer_at(const Request& request, const Target& target, RequestWork& work);
  std::optional<Answer> api_answer(const Request& request, const Target& target, RequestWork& work) const;
  bool hides_api(RequestWork& work) const;
  std::optional<Place> place_of_file(const std::optional<std::string>& file) const;
  Answer answer_found(NodeRequest request, const Place& place, front::FoundNode found);
  std::optional<Place> place_of(const std::string& path);
  Answer answer_sources(const Request& request, RequestWork& work) const;
  void add_common(const Request& request, Answer& answer) const;

  const SiteOptions options_;
  const AccessToken token_;
  std::vector<std::unique_ptr<ServedSource>> sources_;
  std::vector<std::string> names_;  // names of the sources in the root
};

}  // namespace h5mount::serve
