import CSMPP34
import Glibc

/// TLS over a non-blocking socket. Belongs to the session's actor.
final class TLSLayer {
  private let socket: Int32
  private let context: OpaquePointer
  private let ssl: OpaquePointer

  init(_ socket: Int32, host: String, _ trust: SMPPTrust) throws(SMPPError) {
    Self.ignorePipeSignal
    let context = try Self.makeContext(trust)
    guard let ssl = SSL_new(context) else {
      SSL_CTX_free(context)
      throw SMPPError(.tls, "out of memory")
    }
    self.socket = socket
    self.context = context
    self.ssl = ssl
    try requireHost(host)
    SSL_set_verify(ssl, SSL_VERIFY_PEER, nil)
    SSL_set_fd(ssl, socket)
    cs_ssl_allow_partial_writes(ssl)
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
  }

  private static func makeContext(_ trust: SMPPTrust) throws(SMPPError) -> OpaquePointer {
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw SMPPError(.tls, "out of memory") }
    do throws(SMPPError) {
      guard cs_ssl_require_tls12(context) == 1 else { throw SMPPError(.tls, "TLS 1.2 is not available") }
      try loadAuthorities(trust, context)
    } catch {
      SSL_CTX_free(context)
      throw error
    }
    return context
  }

  private static func loadAuthorities(_ trust: SMPPTrust, _ context: OpaquePointer) throws(SMPPError) {
    if let file = trust.caFile {
      guard SSL_CTX_load_verify_locations(context, file, nil) == 1 else {
        throw SMPPError(.tls, "cannot read certificates of authorities from '\(file)'")
      }
    } else if SSL_CTX_set_default_verify_paths(context) != 1 {
      throw SMPPError(.tls, "cannot read the system's certificates of authorities")
    }
  }

  private func requireHost(_ host: String) throws(SMPPError) {
    let parameters = SSL_get0_param(ssl)
    X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    if X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return }
    guard X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1, cs_ssl_set_host(ssl, host) == 1 else {
      throw SMPPError(.tls, "'\(host)' cannot be the name in a certificate")
    }
  }

  /// Blocks at most until the deadline.
  func handshake(_ deadline: Deadline) throws(SMPPError) {
    while true {
      ERR_clear_error()
      let result = SSL_connect(ssl)
      guard result != 1 else { return }
      let events: Int32
      switch SSL_get_error(ssl, result) {
      case SSL_ERROR_WANT_READ: events = POLLIN
      case SSL_ERROR_WANT_WRITE: events = POLLOUT
      default: throw SMPPError(.tls, "the TLS handshake failed: \(refusal)")
      }
      guard deadline.wait(for: events, on: socket) else {
        throw SMPPError(.tls, "the TLS handshake took too long")
      }
    }
  }

  /// Reason for refusing the server's certificate, otherwise the usual cause.
  private var refusal: String {
    let result = SSL_get_verify_result(ssl)
    guard result != Int(X509_V_OK) else { return "does the server speak TLS 1.2 or later on this port?" }
    return "the certificate is not trusted: \(String(cString: X509_verify_cert_error_string(result)))"
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    ERR_clear_error()
    return transfer(SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count)))
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Transfer {
    ERR_clear_error()
    return transfer(SSL_write(ssl, bytes.baseAddress, Int32(clamping: bytes.count)))
  }

  private func transfer(_ result: Int32) -> Transfer {
    if result > 0 { return .bytes(Int(result)) }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .mustWait
    case SSL_ERROR_ZERO_RETURN: return .failed(SMPPLink.ended)
    default: return .failed(SMPPError(.connectionLost, "the encrypted connection failed"))
    }
  }

  /// Sends close_notify, without waiting for the answer.
  func close() {
    ERR_clear_error()
    _ = SSL_shutdown(ssl)
  }

  /// OpenSSL writes without MSG_NOSIGNAL. A closed connection must not end this process.
  private static let ignorePipeSignal: Void = { _ = signal(SIGPIPE, SIG_IGN) }()
}
