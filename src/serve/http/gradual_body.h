// GradualBody: a text that is made part by part as it is sent, so that a text of any length takes the same
// memory; a short one is made before it is sent, so that it has a size and can be compressed. Threads: one at
// a time.
#pragma once

#include <string>

#include "body.h"

namespace h5mount::serve {

class GradualBody : public Body {
 public:
  std::optional<std::uint64_t> size() const final { return size_; }
  Result<std::size_t> read(MutableByteSpan out, RequestWork& work) final;

  // Makes the beginning, which is all of a short text. To be called once, before `read`.
  Status begin(RequestWork& work);

 protected:
  // Appends the next part; calls `end` with the last one. An error ends the text where it is. What is added
  // beyond `wanted()` bytes is held until the client takes it.
  virtual Status add_next(std::string& out, RequestWork& work) = 0;
  void end() { ended_ = true; }
  std::size_t wanted() const { return wanted_; }
  // Called after parts were made: fails if the files that they were made from have changed meanwhile.
  virtual Status confirm() { return {}; }

 private:
  enum class Pause { Never, WhenOld };
  Status add(std::size_t bytes, Pause pause, RequestWork& work);

  std::string pending_;  // the bytes from `given_` on are not yet read
  std::size_t given_ = 0;
  std::size_t wanted_ = 0;
  bool ended_ = false;
  std::optional<std::uint64_t> size_;
};

}  // namespace h5mount::serve
