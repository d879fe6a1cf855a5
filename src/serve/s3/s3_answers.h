// Answers in the form of Amazon S3: XML documents, and errors with S3's codes. Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "../http/message.h"

namespace h5mount::serve {

inline constexpr std::string_view kS3Namespace = "http://s3.amazonaws.com/doc/2006-03-01/";

// Escapes text for an element. Bytes that XML cannot have (bytes that are not UTF-8, most control characters)
// become U+FFFD: clients that want such names ask for encoding-type=url.
std::string escape_xml(std::string_view text);
// Returns `<name>text</name>`; the text is escaped.
std::string xml_element(std::string_view name, std::string_view text);
// Returns, for example, "2009-10-12T17:50:30.000Z".
std::string xml_date(std::int64_t seconds_since_1970);

Answer xml_answer(std::string text);

struct S3Error {
  unsigned status;
  std::string_view code;
  std::string message;
};
Answer s3_error_answer(const S3Error& error, std::string_view resource);
// Turns an answer of the rest of this server into one of S3: an error becomes XML. `resource` is the
// requested path.
Answer as_s3_answer(Answer answer, std::string_view resource);
// The answer to an error of the tree.
Answer s3_error_answer(const Error& error, std::string_view resource);

}  // namespace h5mount::serve
