#pragma once
#include <sys/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <opendkim/dkim.h>

/* The options take the address of whatever they want, and its size instead of its length. */
static inline DKIM_STAT cdkim_set_headers(DKIM_LIB *library, int option, const char *const *names) {
  return dkim_options(library, DKIM_OP_SETOPT, option, (void *)names, sizeof(u_char **));
}
