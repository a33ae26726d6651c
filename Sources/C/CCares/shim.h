#pragma once
#include <ares.h>
#include <poll.h>
#include <stddef.h>

/* Class and type of a query (RFC 1035, 3.2). */
enum { CCARES_IN = 1, CCARES_TXT = 16 };

/* Waits until all queries of a channel are answered or have timed out; the bit masks of ares_getsock are macros. */
static inline void ccares_run(ares_channel channel) {
  for (;;) {
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    struct pollfd polled[ARES_GETSOCK_MAXNUM];
    int bits = ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM), count = 0;
    for (int i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
      short events = (ARES_GETSOCK_READABLE(bits, i) ? POLLIN : 0) | (ARES_GETSOCK_WRITABLE(bits, i) ? POLLOUT : 0);
      if (!events) continue;
      polled[count].fd = sockets[i];
      polled[count].events = events;
      polled[count++].revents = 0;
    }
    if (!count) return;
    struct timeval storage, *wait = ares_timeout(channel, NULL, &storage);
    int ready = poll(polled, (nfds_t)count, wait ? (int)(wait->tv_sec * 1000 + wait->tv_usec / 1000 + 1) : -1);
    if (ready <= 0) {
      ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      continue;
    }
    for (int i = 0; i < count; i++)
      ares_process_fd(channel, polled[i].revents & (POLLIN | POLLERR | POLLHUP) ? polled[i].fd : ARES_SOCKET_BAD,
                      polled[i].revents & POLLOUT ? polled[i].fd : ARES_SOCKET_BAD);
  }
}
