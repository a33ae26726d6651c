/* Looks names up slowly: loaded before the C library (LD_PRELOAD), it answers for "slow-….invalid", with 127.0.0.1, after 4 s. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
      (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
  if (name == NULL || strncmp(name, "slow-", 5) != 0) return next(name, service, hints, found);
  sleep(4);
  return next("127.0.0.1", service, hints, found);
}
