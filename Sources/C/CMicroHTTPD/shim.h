#pragma once
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/* MHD_start_daemon and MHD_get_connection_info are variadic, which Swift cannot call. */

struct cms_options {
  int listen_socket;
  unsigned int connection_limit;
  unsigned int idle_timeout_seconds;
  size_t connection_memory_bytes;
  MHD_AccessHandlerCallback on_access;
  void *(*on_target)(void *cls, const char *target, struct MHD_Connection *connection);
  MHD_RequestCompletedCallback on_completed;
  MHD_AcceptPolicyCallback on_accept;
  MHD_NotifyConnectionCallback on_connection;
  void *cls;
};

/* poll, not epoll: when exactly 128 events (its MAX_EVENTS) are ready at once, libmicrohttpd 0.9.75 asks epoll for more before
   it serves them, and blocks there until the connections' time-out. */
static inline struct MHD_Daemon *cms_start(const struct cms_options *o) {
  return MHD_start_daemon(
      MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0,
      o->on_accept, o->cls, o->on_access, o->cls,
      MHD_OPTION_LISTEN_SOCKET, o->listen_socket,
      MHD_OPTION_CONNECTION_LIMIT, o->connection_limit,
      MHD_OPTION_CONNECTION_TIMEOUT, o->idle_timeout_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, o->connection_memory_bytes,
      MHD_OPTION_URI_LOG_CALLBACK, o->on_target, o->cls,
      MHD_OPTION_NOTIFY_COMPLETED, o->on_completed, o->cls,
      MHD_OPTION_NOTIFY_CONNECTION, o->on_connection, o->cls,
      MHD_OPTION_END);
}

static inline int cms_connection_fd(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

static inline const struct sockaddr *cms_client_address(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info ? info->client_addr : NULL;
}

struct cms_head {
  const char *end;
  int is_intact;
};

static inline enum MHD_Result cms_follow(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                         const char *value, size_t value_size) {
  struct cms_head *head = cls;
  (void)kind;
  if (!value || name != head->end + 2 || value <= name + name_size) head->is_intact = 0;
  head->end = value + value_size;
  return MHD_YES;
}

/* Whether the head of a request is what it seems. libmicrohttpd 0.9.75 cuts what it hands out at a NUL, takes a bare LF for a CRLF and
   a NUL for the end of the head, and confuses folded lines; MHD_OPTION_STRICT_FOR_CLIENT changes none of it, and the option that does
   (MHD_OPTION_CLIENT_DISCIPLINE_LVL) came with 1.0. But it hands everything out where it arrived, so each field begins two bytes, a
   CRLF, after the one before has ended, and the last one ends four bytes before the head does. Only compares addresses. */
static inline int cms_head_is_intact(struct MHD_Connection *connection, const char *method, const char *target,
                                     size_t target_size) {
  struct cms_head head = {target + target_size + sizeof " HTTP/1.1" - 1, 1};
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, cms_follow, &head);
  return info && head.is_intact && method + info->header_size == head.end + 4;
}

/* How many bytes a TCP connection has received, read or not; 0 where the kernel does not say. glibc's struct tcp_info ends before
   tcpi_bytes_received, which Linux has had since 4.1, and <linux/tcp.h> cannot stand beside it: hence its place. */
static inline uint64_t cms_received(int fd) {
  enum { tcp_info = 11, place = 128 };
  unsigned char info[256];
  socklen_t size = sizeof info;
  uint64_t received = 0;
  if (getsockopt(fd, IPPROTO_TCP, tcp_info, info, &size) != 0 || size < place + sizeof received) return 0;
  memcpy(&received, info + place, sizeof received);
  return received;
}

/* Sends a RST at once: Linux resets an established TCP connection that is dissolved with AF_UNSPEC.
   (SO_LINGER 0 would come too late, libmicrohttpd sends a FIN with shutdown(2) before it closes.) */
static inline int cms_reset(struct MHD_Connection *connection) {
  int fd = cms_connection_fd(connection);
  if (fd < 0) return -1;
  struct sockaddr unspecified;
  memset(&unspecified, 0, sizeof unspecified);
  unspecified.sa_family = AF_UNSPEC;
  return connect(fd, &unspecified, sizeof unspecified);
}
