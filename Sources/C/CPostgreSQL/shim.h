#pragma once
#include <libpq-fe.h>
#include <openssl/ssl.h>
#include <time.h>

/* Whether decrypted bytes wait that poll(2) knows nothing about: PQconsumeInput may leave a part of a TLS record behind.
 */
static inline int cpostgresql_has_unread(PGconn *connection) {
  SSL *ssl = (SSL *)PQsslStruct(connection, "OpenSSL");
  return ssl != NULL && SSL_pending(ssl) > 0;
}

/* End of the validity of the certificate that the server has shown, in seconds since 1970; -1 before it has. */
static inline long long cpostgresql_certificate_end(PGconn *connection) {
  SSL *ssl = (SSL *)PQsslStruct(connection, "OpenSSL");
  X509 *certificate = ssl == NULL ? NULL : SSL_get0_peer_certificate(ssl);
  struct tm end;
  if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1) return -1;
  return (long long)timegm(&end);
}
