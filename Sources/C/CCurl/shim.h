#pragma once
#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Swift cannot call variadic functions: one wrapper for each kind of argument. */

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_off(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value) {
  return curl_easy_setopt(easy, option, value);
}

typedef size_t (*ccurl_data_function)(char *data, size_t size, size_t count, void *context);
typedef int (*ccurl_prerequest_function)(void *context, char *, char *, int, int);

static inline CURLcode ccurl_set_data_function(CURL *easy, CURLoption option, ccurl_data_function function) {
  return curl_easy_setopt(easy, option, function);
}

static inline CURLcode ccurl_set_prerequest_function(CURL *easy, ccurl_prerequest_function function) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

static inline CURLcode ccurl_set_debug_function(CURL *easy, curl_debug_callback function) {
  return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, function);
}

static inline CURLcode ccurl_set_progress_function(CURL *easy, curl_xferinfo_callback function) {
  return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, function);
}

static inline CURLcode ccurl_set_tls_function(CURL *easy, curl_ssl_ctx_callback function) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
}

static inline CURLcode ccurl_set_open_function(CURL *easy, curl_opensocket_callback function) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}

static inline CURLcode ccurl_set_close_function(CURL *easy, curl_closesocket_callback function) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}

/* What libcurl would do itself, but for the flag: programs that are started need not have it. */
static inline curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_off(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_pointer(CURL *easy, CURLINFO info, void **value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_callbacks(CURLM *multi, curl_socket_callback on_socket,
                                                  curl_multi_timer_callback on_timer, void *context) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
  return code;
}

/* The message of a finished transfer, without the union that Swift shows awkwardly. Returns 0 when there is none. */
static inline int ccurl_next_finished(CURLM *multi, CURL **easy, CURLcode *result) {
  int left = 0;
  for (;;) {
    CURLMsg *message = curl_multi_info_read(multi, &left);
    if (!message) return 0;
    if (message->msg != CURLMSG_DONE) continue;
    *easy = message->easy_handle;
    *result = message->data.result;
    return 1;
  }
}

static inline void ccurl_set_cork(curl_socket_t socket, int is_corked) {
  /* A socket that cannot be corked works all the same. */
  (void)setsockopt(socket, IPPROTO_TCP, TCP_CORK, &is_corked, sizeof is_corked);
}

/* Glibc's module in Swift has no epoll. */

static inline int ccurl_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

/* Watches, watches differently or forgets a socket. libcurl closes sockets on its own; the kernel forgets a closed one, so
   that what is thought to be new may be known and the other way round. */
static inline int ccurl_epoll_watch(int epoll, curl_socket_t socket, int what) {
  struct epoll_event event = {0};
  event.data.fd = socket;
  if (what == CURL_POLL_REMOVE) return epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &event);
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0) return 0;
  return errno == EEXIST ? epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) : -1;
}

struct ccurl_ready {
  curl_socket_t socket;
  int mask; /* CURL_CSELECT_IN, _OUT, _ERR */
};

enum { CCURL_READY_BATCH = 128 };

static inline int ccurl_epoll_ready(int epoll, struct ccurl_ready *ready) {
  struct epoll_event events[CCURL_READY_BATCH];
  int count = epoll_wait(epoll, events, CCURL_READY_BATCH, 0);
  for (int i = 0; i < count; i++) {
    ready[i].socket = events[i].data.fd;
    ready[i].mask = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                    (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                    (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
  }
  return count;
}

/* With CURLOPT_NOSIGNAL libcurl leaves SIGPIPE alone, and OpenSSL may write to a connection that is gone. */
static inline void ccurl_ignore_sigpipe(void) { signal(SIGPIPE, SIG_IGN); }
