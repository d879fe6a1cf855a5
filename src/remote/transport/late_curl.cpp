// libcurl, loaded when the first URL is opened.
#include "transfers.h"

#ifdef H5MOUNT_LIBCURL  // its soname; else it is linked

#include <cstdarg>

#include "h5mount/base/late_library.h"

namespace {

h5mount::LateLibrary& libcurl() {
  static h5mount::LateLibrary library(H5MOUNT_LIBCURL);
  return library;
}

}  // namespace

// The header's macros of these names have the same arguments.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#undef curl_share_setopt

// The value of an option is a long, a pointer or a curl_off_t: on the 64-bit systems of Linux, where alone
// libcurl is loaded late, each is passed as a pointer is.
static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));
#define H5_LATE_OPTION(result, name, handle, option)                                        \
  result name(handle owner, option which, ...) {                                            \
    std::va_list values;                                                                    \
    va_start(values, which);                                                                \
    void* const value = va_arg(values, void*);                                              \
    va_end(values);                                                                         \
    static auto* const real = reinterpret_cast<decltype(&name)>(libcurl().function(#name)); \
    return real(owner, which, value);                                                       \
  }

extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvarargs"  // libcurl declares an enumeration in front of the value
H5_LATE_OPTION(CURLcode, curl_easy_setopt, CURL*, CURLoption)
H5_LATE_OPTION(CURLcode, curl_easy_getinfo, CURL*, CURLINFO)
H5_LATE_OPTION(CURLMcode, curl_multi_setopt, CURLM*, CURLMoption)
H5_LATE_OPTION(CURLSHcode, curl_share_setopt, CURLSH*, CURLSHoption)
#pragma GCC diagnostic pop
H5_LATE_FUNCTION(libcurl(), CURLcode, curl_global_init, (long flags), (flags))
H5_LATE_FUNCTION(libcurl(), time_t, curl_getdate, (const char* text, const time_t* unused), (text, unused))
H5_LATE_FUNCTION(libcurl(), CURL*, curl_easy_init, (), ())
H5_LATE_FUNCTION(libcurl(), void, curl_easy_cleanup, (CURL * handle), (handle))
H5_LATE_FUNCTION(libcurl(), const char*, curl_easy_strerror, (CURLcode code), (code))
H5_LATE_FUNCTION(libcurl(), CURLM*, curl_multi_init, (), ())
H5_LATE_FUNCTION(libcurl(), CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi))
H5_LATE_FUNCTION(libcurl(), CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL* handle), (multi, handle))
H5_LATE_FUNCTION(libcurl(), CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL* handle),
                 (multi, handle))
H5_LATE_FUNCTION(libcurl(), CURLMcode, curl_multi_perform, (CURLM * multi, int* running), (multi, running))
H5_LATE_FUNCTION(libcurl(), CURLMsg*, curl_multi_info_read, (CURLM * multi, int* left), (multi, left))
H5_LATE_FUNCTION(libcurl(), CURLMcode, curl_multi_poll,
                 (CURLM * multi, curl_waitfd others[], unsigned count, int timeout, int* ready),
                 (multi, others, count, timeout, ready))
H5_LATE_FUNCTION(libcurl(), CURLMcode, curl_multi_wakeup, (CURLM * multi), (multi))
H5_LATE_FUNCTION(libcurl(), CURLSH*, curl_share_init, (), ())
H5_LATE_FUNCTION(libcurl(), CURLSHcode, curl_share_cleanup, (CURLSH * share), (share))
H5_LATE_FUNCTION(libcurl(), curl_slist*, curl_slist_append, (curl_slist * list, const char* text),
                 (list, text))
H5_LATE_FUNCTION(libcurl(), void, curl_slist_free_all, (curl_slist * list), (list))
}

#endif

namespace h5mount::remote {

Status load_libcurl() {
#ifdef H5MOUNT_LIBCURL
  return libcurl().load();
#else
  return {};
#endif
}

}  // namespace h5mount::remote
