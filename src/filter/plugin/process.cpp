#include "process.h"

#include <fmt/format.h>

#include <vector>

#include "protocol.h"

namespace h5mount::filter {

namespace {

template <class T>
MutableByteSpan bytes_of(T& value) {
  return {reinterpret_cast<std::byte*>(&value), sizeof value};
}

Error failed_plugin(const std::string& name, std::string_view what) {
  return {ErrorCode::FilterFailed, fmt::format("filter plugin{}{}: {}", name.empty() ? "" : " ", name, what)};
}

}  // namespace

Result<std::unique_ptr<PluginProcess>> PluginProcess::start(const PluginOptions& options, int id,
                                                            std::uint64_t memory) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.timeout).count();
  std::vector<std::string> words = {kHelperName, std::to_string(id), std::to_string(memory),
                                    std::to_string(seconds)};
  words.insert(words.end(), options.directories.begin(), options.directories.end());
  H5_ASSIGN(auto helper, HelperProcess::start({.path = options.helper, .words = std::move(words)}));
  std::unique_ptr<PluginProcess> process(new PluginProcess(std::move(helper), options.timeout));
  H5_TRY(process->greet());
  return process;
}

Status PluginProcess::greet() {
  const HelperProcess::Deadline deadline = std::chrono::steady_clock::now() + timeout_;
  PluginReply greeting;
  H5_TRY(receive(bytes_of(greeting), deadline));
  if (greeting.answer == PluginAnswer::NotFound)
    return fail({ErrorCode::NotFound, "no plugin has this filter"});
  if (greeting.bytes > kMaxGreeting) return fail(failed_plugin("", "a greeting of no sound length"));
  name_.resize(static_cast<std::size_t>(greeting.bytes));
  H5_TRY(receive({reinterpret_cast<std::byte*>(name_.data()), name_.size()}, deadline));
  if (greeting.answer == PluginAnswer::Done) return {};
  return fail(failed_plugin("", name_));
}

Result<std::size_t> PluginProcess::decode(ByteSpan in, std::span<const std::uint32_t> values,
                                          MutableByteSpan out) {
  const HelperProcess::Deadline deadline = std::chrono::steady_clock::now() + timeout_;
  if (values.size() > kMaxPluginValues) return fail(failed_plugin(name_, "too many client values"));
  PluginRequest request{in.size(), out.size(), static_cast<std::uint32_t>(values.size()), 0};
  usable_ = false;  // remains false until the reply was read completely
  H5_TRY(send(bytes_of(request), deadline));
  H5_TRY(send(std::as_bytes(values), deadline));
  H5_TRY(send(in, deadline));
  PluginReply reply;
  H5_TRY(receive(bytes_of(reply), deadline));
  if (reply.answer == PluginAnswer::Done) {
    if (reply.bytes > out.size()) return fail(failed_plugin(name_, "an answer longer than was asked for"));
    H5_TRY(receive(out.first(static_cast<std::size_t>(reply.bytes)), deadline));
    usable_ = true;
    return static_cast<std::size_t>(reply.bytes);
  }
  if (reply.bytes != 0) return fail(failed_plugin(name_, "an answer that is none"));
  usable_ = true;
  return fail(failed_plugin(name_, reply.answer == PluginAnswer::TooLong
                                       ? "it gives more bytes than the chunk has"
                                       : "it cannot decode these bytes"));
}

Status PluginProcess::judged(const Status& exchange) const {
  if (exchange) return {};
  const Error& error = exchange.error();
  if (error.code() != ErrorCode::TimedOut) return fail(failed_plugin(name_, error.text()));
  return fail(failed_plugin(name_, fmt::format("it hangs: no answer in {} ms", timeout_.count())));
}

}  // namespace h5mount::filter
