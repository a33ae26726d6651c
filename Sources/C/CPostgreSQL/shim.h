#pragma once
#include <libpq-fe.h>
#include <openssl/ssl.h>

/* Whether decrypted bytes wait that poll(2) knows nothing about: PQconsumeInput may leave a part of a TLS record behind.
 */
static inline int cpostgresql_has_unread(PGconn *connection) {
  SSL *ssl = (SSL *)PQsslStruct(connection, "OpenSSL");
  return ssl != NULL && SSL_pending(ssl) > 0;
}
