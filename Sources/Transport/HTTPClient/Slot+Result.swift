import CCurl
import Curl

extension Slot {
  func result(_ code: CURLcode) -> Result<HTTPResponse, TransportError> {
    code == CURLE_OK ? .success(response()) : .failure(failure(code))
  }

  /// A failure that the loop decides: a cancellation, a time-out, the end of the transport.
  func failure(_ kind: TransportError.Kind, _ what: String) -> TransportError {
    TransportError(
      kind: kind, requestMayHaveLeft: mayHaveLeft, description: "\(submission?.request.authority ?? "?"): \(what)")
  }

  /// Whether the server may have seen a byte of the request.
  ///
  /// A pooled connection may have been reset while it was idle; the first write then fails. Without TLS, libcurl writes
  /// directly and counts the bytes taken: none. With TLS, and more so with HTTP/2, there are buffers in between.
  var mayHaveLeft: Bool {
    guard attempts > 0, let request = submission?.request else { return false }
    return request.url.hasPrefix("https:") || easy.long(CURLINFO_REQUEST_SIZE) > 0
  }

  private func response() -> HTTPResponse {
    let version: HTTPResponse.Version =
      switch easy.long(CURLINFO_HTTP_VERSION) {
      case CURL_HTTP_VERSION_1_0: .http10
      case CURL_HTTP_VERSION_2_0: .http2
      default: .http11
      }
    return HTTPResponse(
      status: easy.long(CURLINFO_RESPONSE_CODE), headers: HTTPHeaders(lines: headerLines), body: body, version: version)
  }

  private func failure(_ code: CURLcode) -> TransportError {
    if isTooLarge { return failure(.tooLarge, "the answer is too large") }
    if isResendPrevented {
      return failure(
        .receive, "a pooled connection ended before the answer; not sent again, since that may do it twice")
    }
    let kind = kind(code)
    if isAddressRefused, attempts == 0 { return failure(.connect, "its address is not allowed") }
    if case .timedOut(let phase) = kind { return failure(kind, "timed out (\(phase.rawValue))") }
    return failure(kind, easy.failureText(code))
  }

  private func kind(_ code: CURLcode) -> TransportError.Kind {
    switch code {
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .invalidRequest
    case CURLE_COULDNT_RESOLVE_HOST: .resolve
    case CURLE_COULDNT_CONNECT: .connect
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED: .tls
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_CLIENTCERT:
      .certificate
    case CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND: .send
    case CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_WEIRD_SERVER_REPLY: .receive
    case CURLE_HTTP2, CURLE_HTTP2_STREAM: .http2
    case CURLE_OPERATION_TIMEDOUT: .timedOut(phase)
    default: .other
    }
  }

  private var phase: TransportError.Phase {
    if attempts > 0 { return hasFirstByte ? .response : .firstByte }
    if hasBegunTLS { return .tls }
    return easy.offset(CURLINFO_NAMELOOKUP_TIME_T) == 0 ? .resolve : .connect
  }
}

extension HTTPRequest {
  /// Host and port of the URL, without user and password: all of it that may be shown.
  var authority: String {
    guard let scheme = url.firstRange(of: "://") else { return "?" }
    let authority = url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    return String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? "?")
  }
}
