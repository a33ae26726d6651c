// mallopt(3) and its options, which are in no header that Swift's Glibc module has; prctl(2), which is variadic.
#pragma once
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* No core files, and no memory for other processes of the same user (PR_SET_DUMPABLE). */
static inline void csa_keep_memory_private(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Raises the soft limit of descriptors, as far as the hard one lets it. */
static inline void csa_raise_descriptors(rlim_t wanted) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}
