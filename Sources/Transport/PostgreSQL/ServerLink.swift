import CPostgreSQL
import CountersignTelemetry
import Glibc

/// A connection to one server: libpq's handle and every wait for its socket. Not Sendable: it belongs to one thread.
final class ServerLink {
  /// Notices that a server sends unasked fit in fewer reads.
  private static let maxIdleReads = 16
  /// The oldest server whose settings are known.
  private static let oldestVersion: Int32 = 130_000

  let handle: OpaquePointer
  let address: ServerAddress
  let options: PostgreSQLOptions
  let closing: Closing
  var statements: PreparedStatements
  private(set) var roundTrips = 0
  private(set) var answered = 0
  /// Called after each answered request, with the instant at which it was sent and its number of statements.
  var onAnswer: ((ContinuousClock.Instant, Int) -> Void)?
  /// Whether the connection is out of step with the server, and must no longer be used.
  var isBroken = false
  private let cancelKey: CancelKey?
  private var isCanceled = false

  private init(_ handle: OpaquePointer, _ address: ServerAddress, _ options: PostgreSQLOptions, _ closing: Closing) {
    self.handle = handle
    self.address = address
    self.options = options
    self.closing = closing
    self.statements = PreparedStatements(limit: options.maxStatements)
    self.cancelKey = CancelKey(of: handle)
  }

  deinit {
    PQfinish(handle)
  }

  // MARK: Connecting

  static func connect(
    _ parameters: ConnectionParameters, to address: ServerAddress, options: PostgreSQLOptions, closing: Closing,
    until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> ServerLink {
    ProcessEnvironment.forgetSettings()
    guard let handle = begin(parameters) else { throw StoreError(.outOfResources, "no memory for a connection") }
    // Nothing goes to the standard error; and the server's text, which is in its own language, is not needed.
    PQsetNoticeReceiver(handle, { _, _ in }, nil)
    PQsetErrorVerbosity(handle, PQERRORS_SQLSTATE)
    do throws(StoreError) {
      try proceed(handle, address, closing, until: deadline)
      guard PQserverVersion(handle) >= oldestVersion else {
        throw StoreError(.loginRefused, "\(address) runs a version before \(oldestVersion / 10_000)")
      }
      guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
        throw StoreError(.unreachable, "\(address): the connection cannot be used")
      }
    } catch {
      PQfinish(handle)
      throw error
    }
    return ServerLink(handle, address, options, closing)
  }

  /// In seconds since 1970. `nil` without one in time.
  static func certificateEnd(
    _ parameters: ConnectionParameters, of address: ServerAddress, closing: Closing,
    until deadline: ContinuousClock.Instant
  ) -> Int64? {
    ProcessEnvironment.forgetSettings()
    guard let handle = begin(parameters) else { return nil }
    defer { PQfinish(handle) }
    PQsetNoticeReceiver(handle, { _, _ in }, nil)
    // Without a password the login goes no further.
    try? proceed(handle, address, closing, until: deadline) { cpostgresql_certificate_end($0) >= 0 }
    return certificateEnd(handle)
  }

  private static func certificateEnd(_ handle: OpaquePointer) -> Int64? {
    let end = cpostgresql_certificate_end(handle)
    return end >= 0 ? end : nil
  }

  var certificateEnd: Int64? { Self.certificateEnd(handle) }

  private static func begin(_ parameters: ConnectionParameters) -> OpaquePointer? {
    var keywords = parameters.settings.map { strdup($0.keyword) } + [nil]
    var values = parameters.settings.map { strdup($0.value) } + [nil]
    defer { for text in keywords + values { free(text) } }
    return keywords.withUnsafeMutableBufferPointer { keywords in
      values.withUnsafeMutableBufferPointer { values in
        keywords.withMemoryRebound(to: UnsafePointer<CChar>?.self) { keywords in
          values.withMemoryRebound(to: UnsafePointer<CChar>?.self) { values in
            PQconnectStartParams(keywords.baseAddress, values.baseAddress, 0)
          }
        }
      }
    }
  }

  private static func proceed(
    _ handle: OpaquePointer, _ address: ServerAddress, _ closing: Closing, until deadline: ContinuousClock.Instant,
    orOnce isEnough: (OpaquePointer) -> Bool = { _ in false }
  ) throws(StoreError) {
    var phase = PQstatus(handle)
    var wanted = PGRES_POLLING_WRITING
    while phase != CONNECTION_BAD, !isEnough(handle) {
      switch wanted {
      case PGRES_POLLING_OK: return
      case PGRES_POLLING_READING, PGRES_POLLING_WRITING: break
      default: throw .connecting(text(of: handle), phase: phase, to: address)
      }
      let events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT
      while !wait(PQsocket(handle), events, until: deadline) {
        if closing.hasBegun { throw StoreError(.closed, "the connection was closed") }
        guard ContinuousClock.now < deadline else {
          throw StoreError(.unreachable, "\(address) does not answer")
        }
      }
      phase = PQstatus(handle)
      wanted = PQconnectPoll(handle)
    }
    if phase != CONNECTION_BAD { return }
    throw .connecting(text(of: handle), phase: phase, to: address)
  }

  private static func text(of handle: OpaquePointer) -> String {
    PQerrorMessage(handle).map { String(cString: $0) } ?? ""
  }

  // MARK: Waiting

  private static func wait(_ socket: Int32, _ events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
    guard socket >= 0 else { return true }
    var entry = pollfd(fd: socket, events: Int16(events), revents: 0)
    let time = min(max(ContinuousClock.now.duration(to: deadline), .zero), Closing.interval)
    // Rounded up, so that the last wait does not become a busy loop.
    return poll(&entry, 1, Int32(time.milliseconds)) > 0
  }

  /// Sends and receives until libpq has a result, or knows that there will be none: PQgetResult does not block then.
  func waitForResult(until deadline: ContinuousClock.Instant) throws(StoreError) {
    while PQisBusy(handle) == 1 {
      let unsent = PQflush(handle)
      guard unsent >= 0 else { throw lost() }
      // In TLS a part of a record may be decrypted already, and the socket have nothing more.
      if cpostgresql_has_unread(handle) == 0 {
        let events = unsent == 1 ? POLLIN | POLLOUT : POLLIN
        if !Self.wait(PQsocket(handle), events, until: deadline) {
          try checkTime(deadline)
          continue
        }
      }
      guard PQconsumeInput(handle) == 1 else {
        // An error that the server sent before it went is in the buffer.
        if PQisBusy(handle) == 0 { return }
        throw lost()
      }
      // Also while something comes all the time. After reading: an answer that is here is taken however late it is.
      if PQisBusy(handle) == 1 { try checkTime(deadline) }
    }
  }

  func lost() -> StoreError {
    StoreError(.connectionLost, "the connection to \(address) was lost")
  }

  private func checkTime(_ deadline: ContinuousClock.Instant) throws(StoreError) {
    if closing.isCanceling, !isCanceled {
      isCanceled = true
      cancelKey?.cancel()
    }
    if closing.isCutting { throw StoreError(.closed, "the connection was closed") }
    guard ContinuousClock.now < deadline else {
      throw StoreError(.connectionLost, "\(address) no longer answers")
    }
  }

  // MARK: State

  func didAnswer(_ statements: Int, sentAt instant: ContinuousClock.Instant) {
    roundTrips += 1
    answered += statements
    onAnswer?(instant, statements)
  }

  /// Reads what came meanwhile.
  func isAlive() -> Bool {
    for _ in 0..<Self.maxIdleReads {
      guard PQstatus(handle) == CONNECTION_OK else { return false }
      var entry = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, 0) > 0 || cpostgresql_has_unread(handle) == 1 else { return true }
      guard PQconsumeInput(handle) == 1 else { return false }
      // Takes notices and changed settings out of the buffer.
      _ = PQisBusy(handle)
    }
    return PQstatus(handle) == CONNECTION_OK
  }

  var isIdle: Bool { PQtransactionStatus(handle) == PQTRANS_IDLE }
}
