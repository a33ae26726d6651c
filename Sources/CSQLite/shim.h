#pragma once
#include <sqlite3.h>

/* Swift cannot call variadic functions. */

/* Before the first use of the library: without statistics an allocation needs no lock. */
static inline int csqlite_forgo_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

/* How much memory a connection sets aside for its small, short-lived allocations. */
static inline int csqlite_set_lookaside(sqlite3 *connection, int slot_bytes, int slots) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_LOOKASIDE, (void *)0, slot_bytes, slots);
}
