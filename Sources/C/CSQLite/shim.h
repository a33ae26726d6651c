#pragma once
#include <sqlite3.h>

/* Swift cannot call variadic functions. */

/* Before the first use of the library: without statistics an allocation needs no lock. */
static inline int csqlite_forgo_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
