import CountersignCRabbitMQ
import Glibc

/// Sets up the verification of the broker's certificate, and keeps the reason when it fails, and the ends of both sides'
/// certificates.
///
/// The library's own host name check does not support IP addresses and hides the reason of a refusal, so OpenSSL checks
/// the name along with the chain (X509_VERIFY_PARAM_set1_host), and its callback records the reason.
final class Trust {
  private let settings: TLSSettings
  private let host: String
  /// Written by OpenSSL's callback, which runs on this thread during the handshake.
  private let verdict: UnsafeMutablePointer<Verdict>
  private var clientEnd: Int64?

  init(settings: TLSSettings, host: String) {
    self.settings = settings
    self.host = host
    verdict = .allocate(capacity: 1)
    verdict.initialize(to: Verdict())
  }

  deinit { verdict.deallocate() }

  var refusal: String? {
    guard verdict.pointee.result != X509_V_OK else { return nil }
    return String(cString: X509_verify_cert_error_string(Int(verdict.pointee.result)))
  }

  /// Ends of the certificates of this handshake, seconds since 1970. The broker's is known where it was verified.
  var certificateEnds: [BrokerCertificate: Int64] {
    [.broker: verdict.pointee.end, .client: clientEnd].compactMapValues { $0 }
  }

  /// `self` must live until the handshake is over.
  func apply(to socket: OpaquePointer) throws(AMQPError) {
    guard amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST) == AMQP_STATUS_OK.rawValue,
      let raw = amqp_ssl_socket_get_context(socket)
    else { throw AMQPError(.tlsFailed, "TLS 1.2 is not available") }
    let context = OpaquePointer(raw)
    amqp_ssl_socket_set_verify_peer(socket, settings.verifyPeer ? 1 : 0)
    amqp_ssl_socket_set_verify_hostname(socket, 0)
    if settings.verifyPeer {
      try loadAuthorities(socket, context)
      if settings.verifyHostname { try requireHost(context) }
      SSL_CTX_set_cert_verify_callback(context, keepVerdict, verdict)
    }
    try loadCertificate(socket)
    clientEnd = endOfValidity(SSL_CTX_get0_certificate(context))
  }

  private func loadAuthorities(_ socket: OpaquePointer, _ context: OpaquePointer) throws(AMQPError) {
    if let file = settings.caFile {
      guard amqp_ssl_socket_set_cacert(socket, file) == AMQP_STATUS_OK.rawValue else {
        throw AMQPError(.tlsFailed, "cannot read certificates of authorities from '\(file)'")
      }
    } else if SSL_CTX_set_default_verify_paths(context) != 1 {
      throw AMQPError(.tlsFailed, "cannot read the system's certificates of authorities")
    }
  }

  private func requireHost(_ context: OpaquePointer) throws(AMQPError) {
    let parameters = SSL_CTX_get0_param(context)
    X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    let isAddress = X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1
    guard isAddress || X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1 else {
      throw AMQPError(.tlsFailed, "'\(host)' cannot be the name in a certificate")
    }
  }

  private func loadCertificate(_ socket: OpaquePointer) throws(AMQPError) {
    guard let certificate = settings.certificateFile, let key = settings.keyFile else { return }
    guard amqp_ssl_socket_set_key(socket, certificate, key) == AMQP_STATUS_OK.rawValue else {
      throw AMQPError(.tlsFailed, "cannot use the certificate '\(certificate)' with the key '\(key)'")
    }
  }
}

private struct Verdict {
  var result = X509_V_OK
  var end: Int64?
}

/// Seconds since 1970.
private func endOfValidity(_ certificate: OpaquePointer?) -> Int64? {
  var end = tm()
  guard let certificate, ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1 else { return nil }
  return Int64(timegm(&end))
}

/// Verifies as OpenSSL does by default, and stores the verdict at `argument`.
private func keepVerdict(_ store: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> Int32 {
  let isTrusted = X509_verify_cert(store)
  argument?.assumingMemoryBound(to: Verdict.self).pointee = Verdict(
    result: X509_STORE_CTX_get_error(store), end: endOfValidity(X509_STORE_CTX_get0_cert(store)))
  return isTrusted
}
