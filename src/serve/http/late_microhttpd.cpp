// libmicrohttpd, loaded when a server starts.
#include "exchange.h"

#ifdef H5MOUNT_LIBMICROHTTPD  // its soname; else it is linked

#include <cstdarg>

#include "h5mount/base/late_library.h"

namespace {

h5mount::LateLibrary& microhttpd() {
  static h5mount::LateLibrary library(H5MOUNT_LIBMICROHTTPD);
  return library;
}

}  // namespace

extern "C" {
MHD_Daemon* MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accepts,
                             void* with_accepts, MHD_AccessHandlerCallback on_request, void* with_request,
                             ...) {
  static auto* const real =
      reinterpret_cast<decltype(&MHD_start_daemon_va)>(microhttpd().function("MHD_start_daemon_va"));
  std::va_list options;
  va_start(options, with_request);
  MHD_Daemon* const daemon = real(flags, port, accepts, with_accepts, on_request, with_request, options);
  va_end(options);
  return daemon;
}

// Without any option.
MHD_Result MHD_set_response_options(MHD_Response* response, MHD_ResponseFlags flags, ...) {
  static auto* const real = reinterpret_cast<decltype(&MHD_set_response_options)>(
      microhttpd().function("MHD_set_response_options"));
  return real(response, flags, MHD_RO_END);
}

// For questions without a value of their own.
const MHD_ConnectionInfo* MHD_get_connection_info(MHD_Connection* connection, MHD_ConnectionInfoType what,
                                                  ...) {
  static auto* const real =
      reinterpret_cast<decltype(&MHD_get_connection_info)>(microhttpd().function("MHD_get_connection_info"));
  return real(connection, what);
}

H5_LATE_FUNCTION(microhttpd(), void, MHD_stop_daemon, (MHD_Daemon * daemon), (daemon))
H5_LATE_FUNCTION(microhttpd(), MHD_socket, MHD_quiesce_daemon, (MHD_Daemon * daemon), (daemon))
H5_LATE_FUNCTION(microhttpd(), int, MHD_get_connection_values,
                 (MHD_Connection * connection, MHD_ValueKind kind, MHD_KeyValueIterator iterator, void* with),
                 (connection, kind, iterator, with))
H5_LATE_FUNCTION(microhttpd(), MHD_Response*, MHD_create_response_from_buffer,
                 (size_t size, void* bytes, MHD_ResponseMemoryMode mode), (size, bytes, mode))
H5_LATE_FUNCTION(microhttpd(), MHD_Response*, MHD_create_response_from_callback,
                 (uint64_t size, size_t block, MHD_ContentReaderCallback read, void* with,
                  MHD_ContentReaderFreeCallback free),
                 (size, block, read, with, free))
H5_LATE_FUNCTION(microhttpd(), void, MHD_destroy_response, (MHD_Response * response), (response))
H5_LATE_FUNCTION(microhttpd(), MHD_Result, MHD_add_response_header,
                 (MHD_Response * response, const char* name, const char* value), (response, name, value))
H5_LATE_FUNCTION(microhttpd(), MHD_Result, MHD_queue_response,
                 (MHD_Connection * connection, unsigned status, MHD_Response* response),
                 (connection, status, response))
H5_LATE_FUNCTION(microhttpd(), void, MHD_suspend_connection, (MHD_Connection * connection), (connection))
H5_LATE_FUNCTION(microhttpd(), void, MHD_resume_connection, (MHD_Connection * connection), (connection))
}

#endif

namespace h5mount::serve {

Status load_libmicrohttpd() {
#ifdef H5MOUNT_LIBMICROHTTPD
  return microhttpd().load();
#else
  return {};
#endif
}

}  // namespace h5mount::serve
