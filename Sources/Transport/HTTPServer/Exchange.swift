import CMicroHTTPD
import Glibc
import Synchronization

/// One request and its reply. The daemon's thread collects the body, suspends the connection and starts the handler.
/// The reply, or the end of the server, resumes it once.
///
/// `@unchecked Sendable`: fields belong to the daemon's thread, except `connection` for `MHD_resume_connection`, which
/// any thread may call. A suspended connection is not freed, and the state allows one resume a suspend.
final class Exchange: @unchecked Sendable {
  private enum State {
    case receiving
    case suspended
    case completed(HTTPServerReply)
    case taken
  }

  let connection: OpaquePointer
  let target: [UInt8]
  /// Place of the target in the connection's memory, to be compared only.
  private let targetAddress: UnsafePointer<CChar>
  private let targetLength: Int
  private var headers = HTTPServerHeaders()
  var closesConnection = false
  var body: [UInt8] = []
  /// Maximum bytes of the body, of a request that has one of the places of long ones.
  var longBodyBytes: Int?
  /// Bytes of the body that came after it was too long. They are read, within a limit, so that the client reads the
  /// answer.
  var excessBytes = 0
  private var hasHeaders = false
  private let state = Mutex(State.receiving)

  init(connection: OpaquePointer, target: UnsafePointer<CChar>) {
    self.connection = connection
    self.target = Array(String(cString: target).utf8)
    (targetAddress, targetLength) = (target, strlen(target))
  }

  /// Daemon's thread.
  func isFirstCall() -> Bool {
    defer { hasHeaders = true }
    return !hasHeaders
  }

  var isReceiving: Bool {
    state.withLock { if case .receiving = $0 { true } else { false } }
  }

  /// Daemon's thread: takes the connection out of the loop until `complete(_:)`.
  func suspend() {
    state.withLock { state in
      state = .suspended
      MHD_suspend_connection(connection)
    }
  }

  /// Any thread. A later reply is ignored.
  ///
  /// It resumes under the lock: a stop that finds the state completed ends the daemon next, which aborts the process
  /// while a connection is suspended.
  func complete(_ reply: HTTPServerReply) {
    state.withLock { state in
      guard case .suspended = state else { return }
      state = .completed(reply)
      MHD_resume_connection(connection)
    }
  }

  /// Daemon's thread.
  func takeReply() -> HTTPServerReply? {
    state.withLock { state in
      guard case .completed(let reply) = state else { return nil }
      state = .taken
      return reply
    }
  }
}

extension Exchange {
  /// Daemon's thread: copies the fields out of the connection, once they are there, and judges them.
  func readHead(method: UnsafePointer<CChar>?, version: String) -> RequestHead {
    headers = receivedHeaders()
    let isIntact = cms_head_is_intact(connection, method, targetAddress, targetLength) != 0
    return RequestHead(version: version, headers.fields, isIntact: isIntact)
  }

  /// Daemon's thread.
  func request(method: String) -> HTTPServerRequest {
    HTTPServerRequest(
      method: method, target: String(decoding: target, as: UTF8.self), headers: headers, body: body,
      remoteAddress: remoteAddress())
  }

  /// Daemon's thread.
  func declaredLength() -> Int? {
    guard let value = MHD_lookup_connection_value(connection, .HEADER_KIND, "Content-Length") else { return nil }
    return Int(String(cString: value))
  }

  private func receivedHeaders() -> HTTPServerHeaders {
    var headers = HTTPServerHeaders()
    withUnsafeMutablePointer(to: &headers) { pointer in
      _ = MHD_get_connection_values(
        connection, .HEADER_KIND,
        { context, _, name, value in
          guard let name else { return .YES }
          context!.assumingMemoryBound(to: HTTPServerHeaders.self).pointee
            .add(name: String(cString: name), value: value.map { String(cString: $0) } ?? "")
          return .YES
        }, pointer)
    }
    return headers
  }

  private func remoteAddress() -> String {
    cms_client_address(connection).map(NumericHost.text) ?? ""
  }
}
