// TXT records by the resolver of the C library, whose interface is macros over a structure.
#pragma once
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

/* Asks for the TXT records of a name; `part` gets each of their strings, and whether it begins a record.
   With `port`, the server is on that port of this machine. Returns 0 or a value of h_errno. */
static inline int cres_texts(const char *name, uint16_t port, int seconds, int tries, void *context,
                             void (*part)(void *context, const unsigned char *text, size_t length, int begins)) {
  struct __res_state state = {0};
  unsigned char answer[NS_MAXMSG];
  if (res_ninit(&state) != 0) return NO_RECOVERY;
  state.retrans = seconds;
  state.retry = tries;
  if (port) {
    state.nscount = 1;
    state.nsaddr_list[0].sin_family = AF_INET;
    state.nsaddr_list[0].sin_port = htons(port);
    state.nsaddr_list[0].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  int length = res_nquery(&state, name, ns_c_in, ns_t_txt, answer, sizeof answer);
  int error = length < 0 ? state.res_h_errno : 0;
  res_nclose(&state);
  ns_msg message;
  if (error || ns_initparse(answer, length, &message) != 0) return error ? error : NO_RECOVERY;
  for (int index = 0; index < ns_msg_count(message, ns_s_an); index++) {
    ns_rr record;
    if (ns_parserr(&message, ns_s_an, index, &record) != 0) return NO_RECOVERY;
    if (ns_rr_type(record) != ns_t_txt) continue;
    const unsigned char *data = ns_rr_rdata(record), *end = data + ns_rr_rdlen(record);
    for (int begins = 1; data < end; begins = 0) {
      size_t count = *data++;
      if (count > (size_t)(end - data)) return NO_RECOVERY;
      part(context, data, count, begins);
      data += count;
    }
  }
  return 0;
}
