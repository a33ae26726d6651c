#pragma once
#include <stdint.h>

#include <smpp34.h>
#include <smpp34_structs.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

/* Macros with a cast or a call inside are not imported. */
static inline int cs_ssl_require_tls12(SSL_CTX *context) {
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

static inline int cs_ssl_set_host(SSL *ssl, const char *host) { return (int)SSL_set_tlsext_host_name(ssl, host); }

/* The buffer of a write that had to wait may have moved when it is repeated. */
static inline void cs_ssl_allow_partial_writes(SSL *ssl) {
  SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}
