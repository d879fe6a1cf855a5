#include "xml_reader.h"

#include <expat.h>

#include <cstring>
#include <ctime>
#include <exception>
#include <memory>

namespace h5mount::remote {
namespace {

constexpr int kMaxDepth = 8;

struct XmlReading {
  const XmlHandler& handler;
  XML_Parser parser;
  std::string text;
  const char* trouble = nullptr;
  std::exception_ptr thrown = nullptr;
  int depth = 0;

  // `why`: with static storage.
  void stop(const char* why) {
    trouble = why;
    XML_StopParser(parser, XML_FALSE);
  }

  // No exception may pass through expat, which calls these: one ends the document, and is thrown behind it.
  template <class Step>
  void guarded(Step step) noexcept {
    if (thrown) return;
    try {
      step();
    } catch (...) {
      thrown = std::current_exception();
      XML_StopParser(parser, XML_FALSE);
    }
  }

  static void on_start(void* self_pointer, const XML_Char* name, const XML_Char**) {
    auto& self = *static_cast<XmlReading*>(self_pointer);
    if (++self.depth > kMaxDepth) return self.stop("it is too deep");
    self.guarded([&] {
      self.text.clear();
      if (self.handler.begins) self.handler.begins(self.depth, name);
    });
  }

  static void on_end(void* self_pointer, const XML_Char* name) {
    auto& self = *static_cast<XmlReading*>(self_pointer);
    self.guarded([&] { self.handler.ends(self.depth, name, self.text); });
    --self.depth;
    self.text.clear();
  }

  static void on_text(void* self_pointer, const XML_Char* text, int length) {
    auto& self = *static_cast<XmlReading*>(self_pointer);
    self.guarded([&] { self.text.append(text, static_cast<std::size_t>(length)); });
  }

  // A document type could declare entities, by which a small document becomes a large one.
  static void on_doctype(void* self_pointer, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    static_cast<XmlReading*>(self_pointer)->stop("it declares a document type");
  }
};

}  // namespace

Status read_xml(std::string_view xml, const XmlHandler& handler) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr),
                                                                            XML_ParserFree);
  if (!parser) return fail(no_memory());
  XmlReading reading{handler, parser.get(), {}};
  XML_SetUserData(parser.get(), &reading);
  XML_SetElementHandler(parser.get(), XmlReading::on_start, XmlReading::on_end);
  XML_SetCharacterDataHandler(parser.get(), XmlReading::on_text);
  XML_SetStartDoctypeDeclHandler(parser.get(), XmlReading::on_doctype);
  const bool read = XML_Parse(parser.get(), xml.data(), static_cast<int>(xml.size()), 1) == XML_STATUS_OK;
  if (reading.thrown) std::rethrow_exception(reading.thrown);
  if (read) return {};
  if (XML_GetErrorCode(parser.get()) == XML_ERROR_NO_MEMORY) return fail(no_memory());
  return fail(Error(ErrorCode::Io, reading.trouble == nullptr ? "it is no XML" : reading.trouble));
}

std::int64_t seconds_of_time(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return 0;
  const std::int64_t seconds = ::timegm(&parts);
  rest += std::strspn(rest, ".0123456789");
  char sign = '+';
  int hours = 0, minutes = 0;
  if (std::sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) < 2) return seconds;
  const int offset = hours * 3600 + minutes * 60;
  return sign == '-' ? seconds + offset : seconds - offset;
}

}  // namespace h5mount::remote
