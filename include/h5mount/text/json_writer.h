// JsonWriter: writes JSON and inserts the commas. The caller opens and closes objects and arrays, and writes
// a key before each value of an object. Threads: one.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "h5mount/text/value_text.h"

namespace h5mount::text {

class JsonWriter {
 public:
  // Appends to `out`.
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name) {
    separate();
    append_json_string(name, out_);
    out_ += ':';
    wants_comma_ = false;
    return *this;
  }
  JsonWriter& value(std::string_view text) {
    separate();
    append_json_string(text, out_);
    return *this;
  }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& value(std::nullptr_t) { return raw("null"); }
  JsonWriter& value(std::integral auto number) { return raw(std::to_string(number)); }
  template <class Value>
  JsonWriter& value(const std::optional<Value>& content) {
    return content ? value(*content) : value(nullptr);
  }
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
  }
  JsonWriter& array(const auto& values) {
    begin_array();
    for (const auto& one : values) value(one);
    return end_array();
  }
  const std::string& text() const { return out_; }
  // For a value that the caller appends to the text itself.
  std::string& next() {
    separate();
    return out_;
  }

  template <class Value>
  JsonWriter& member(std::string_view name, const Value& content) {
    key(name);
    return value(content);
  }

 private:
  JsonWriter& open(char bracket) {
    separate();
    out_ += bracket;
    wants_comma_ = false;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    wants_comma_ = true;
    return *this;
  }
  void separate() {
    if (wants_comma_) out_ += ',';
    wants_comma_ = true;
  }

  std::string& out_;
  bool wants_comma_ = false;
};

}  // namespace h5mount::text
