#pragma once
#include <stdint.h>
#include <sys/time.h>

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

/* Variadic functions are not imported: one wrapper for each SASL mechanism. */
static inline amqp_rpc_reply_t cs_login_plain(amqp_connection_state_t state, const char *vhost, int channel_max,
                                              int frame_max, int heartbeat, const amqp_table_t *properties,
                                              const char *user, const char *password) {
  return amqp_login_with_properties(state, vhost, channel_max, frame_max, heartbeat, properties,
                                    AMQP_SASL_METHOD_PLAIN, user, password);
}

static inline amqp_rpc_reply_t cs_login_external(amqp_connection_state_t state, const char *vhost, int channel_max,
                                                 int frame_max, int heartbeat, const amqp_table_t *properties,
                                                 const char *identity) {
  return amqp_login_with_properties(state, vhost, channel_max, frame_max, heartbeat, properties,
                                    AMQP_SASL_METHOD_EXTERNAL, identity);
}

/* Method numbers are macros with a cast, which are not imported either. */
static const amqp_method_number_t cs_connection_close = AMQP_CONNECTION_CLOSE_METHOD;
static const amqp_method_number_t cs_connection_close_ok = AMQP_CONNECTION_CLOSE_OK_METHOD;
static const amqp_method_number_t cs_connection_blocked = AMQP_CONNECTION_BLOCKED_METHOD;
static const amqp_method_number_t cs_connection_unblocked = AMQP_CONNECTION_UNBLOCKED_METHOD;
static const amqp_method_number_t cs_channel_open = AMQP_CHANNEL_OPEN_METHOD;
static const amqp_method_number_t cs_channel_open_ok = AMQP_CHANNEL_OPEN_OK_METHOD;
static const amqp_method_number_t cs_channel_close = AMQP_CHANNEL_CLOSE_METHOD;
static const amqp_method_number_t cs_channel_close_ok = AMQP_CHANNEL_CLOSE_OK_METHOD;
static const amqp_method_number_t cs_exchange_declare = AMQP_EXCHANGE_DECLARE_METHOD;
static const amqp_method_number_t cs_exchange_declare_ok = AMQP_EXCHANGE_DECLARE_OK_METHOD;
static const amqp_method_number_t cs_exchange_delete = AMQP_EXCHANGE_DELETE_METHOD;
static const amqp_method_number_t cs_exchange_delete_ok = AMQP_EXCHANGE_DELETE_OK_METHOD;
static const amqp_method_number_t cs_queue_declare = AMQP_QUEUE_DECLARE_METHOD;
static const amqp_method_number_t cs_queue_declare_ok = AMQP_QUEUE_DECLARE_OK_METHOD;
static const amqp_method_number_t cs_queue_bind = AMQP_QUEUE_BIND_METHOD;
static const amqp_method_number_t cs_queue_bind_ok = AMQP_QUEUE_BIND_OK_METHOD;
static const amqp_method_number_t cs_queue_unbind = AMQP_QUEUE_UNBIND_METHOD;
static const amqp_method_number_t cs_queue_unbind_ok = AMQP_QUEUE_UNBIND_OK_METHOD;
static const amqp_method_number_t cs_queue_purge = AMQP_QUEUE_PURGE_METHOD;
static const amqp_method_number_t cs_queue_purge_ok = AMQP_QUEUE_PURGE_OK_METHOD;
static const amqp_method_number_t cs_queue_delete = AMQP_QUEUE_DELETE_METHOD;
static const amqp_method_number_t cs_queue_delete_ok = AMQP_QUEUE_DELETE_OK_METHOD;
static const amqp_method_number_t cs_basic_qos = AMQP_BASIC_QOS_METHOD;
static const amqp_method_number_t cs_basic_qos_ok = AMQP_BASIC_QOS_OK_METHOD;
static const amqp_method_number_t cs_basic_consume = AMQP_BASIC_CONSUME_METHOD;
static const amqp_method_number_t cs_basic_consume_ok = AMQP_BASIC_CONSUME_OK_METHOD;
static const amqp_method_number_t cs_basic_cancel = AMQP_BASIC_CANCEL_METHOD;
static const amqp_method_number_t cs_basic_cancel_ok = AMQP_BASIC_CANCEL_OK_METHOD;
static const amqp_method_number_t cs_basic_return = AMQP_BASIC_RETURN_METHOD;
static const amqp_method_number_t cs_basic_deliver = AMQP_BASIC_DELIVER_METHOD;
static const amqp_method_number_t cs_basic_get = AMQP_BASIC_GET_METHOD;
static const amqp_method_number_t cs_basic_get_ok = AMQP_BASIC_GET_OK_METHOD;
static const amqp_method_number_t cs_basic_get_empty = AMQP_BASIC_GET_EMPTY_METHOD;
static const amqp_method_number_t cs_basic_ack = AMQP_BASIC_ACK_METHOD;
static const amqp_method_number_t cs_basic_nack = AMQP_BASIC_NACK_METHOD;
static const amqp_method_number_t cs_confirm_select = AMQP_CONFIRM_SELECT_METHOD;
static const amqp_method_number_t cs_confirm_select_ok = AMQP_CONFIRM_SELECT_OK_METHOD;
static const amqp_method_number_t cs_basic_publish = AMQP_BASIC_PUBLISH_METHOD;
