import HTTPServer
import Synchronization

/// Stands in for Twilio within the benchmark's own process, so that the arrival of a message is timed by the clock that
/// timed the command.
final class LoadProvider: Sendable {
  /// What arrived for a number.
  struct Arrival: Sendable {
    let code: String
    let at: ContinuousClock.Instant
  }

  private struct Waiter {
    let continuation: CheckedContinuation<Arrival?, Never>
    let since: ContinuousClock.Instant
  }

  private struct State {
    var waiting: [String: Waiter] = [:]
    var arrived: [String: Arrival] = [:]
    var repeated = 0
    var number = 0
  }

  private let state = Mutex(State())

  private static let maxBodyBytes = 16 << 10

  /// How many messages came for a number that had one already.
  var repeated: Int { state.withLock { $0.repeated } }

  /// Listens.
  /// - Parameter port: on the loopback interface.
  func listen(port: UInt16) throws -> HTTPServer {
    try HTTPServer(host: "127.0.0.1", port: port, maxBodyBytes: Self.maxBodyBytes) { [self] request in
      guard request.method == "POST" else { return .respond(HTTPServerResponse(status: 405, text: "")) }
      return .respond(take(request))
    }
  }

  /// Waits for the message to a number; nil when `giveUp` ended the wait.
  func arrival(for number: String) async -> Arrival? {
    await withCheckedContinuation { continuation in
      let arrived: Arrival? = state.withLock { state in
        if let arrival = state.arrived[number] { return arrival }
        state.waiting[number] = Waiter(continuation: continuation, since: .now)
        return nil
      }
      if let arrived { continuation.resume(returning: arrived) }
    }
  }

  /// Ends the waits that have lasted longer than `limit`.
  func giveUp(after limit: Duration) {
    let now = ContinuousClock.now
    let late = state.withLock { state in
      let late = state.waiting.filter { now - $0.value.since > limit }
      for number in late.keys { state.waiting.removeValue(forKey: number) }
      return late.values.map(\.continuation)
    }
    for continuation in late { continuation.resume(returning: nil) }
  }

  private func take(_ request: HTTPServerRequest) -> HTTPServerResponse {
    let now = ContinuousClock.now
    let form = Self.form(request.body)
    guard let number = form["To"], let text = form["Body"], let code = Self.code(in: text) else {
      return HTTPServerResponse(status: 400, contentType: "application/json", text: #"{"code":21604,"status":400}"#)
    }
    let arrival = Arrival(code: code, at: now)
    let (waiting, id) = state.withLock { state in
      state.number += 1
      if state.arrived.updateValue(arrival, forKey: number) != nil { state.repeated += 1 }
      return (state.waiting.removeValue(forKey: number), state.number)
    }
    waiting?.continuation.resume(returning: arrival)
    return HTTPServerResponse(
      status: 201, contentType: "application/json",
      text: #"{"sid":"SM\#(id)","status":"queued","num_segments":"1","error_code":null}"#)
  }

  private static func form(_ body: [UInt8]) -> [String: String] {
    var fields: [String: String] = [:]
    for pair in body.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { continue }
      fields[decoded(parts[0])] = decoded(parts[1])
    }
    return fields
  }

  private static func decoded(_ text: ArraySlice<UInt8>) -> String {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        let digits = String(decoding: rest.prefix(2), as: UTF8.self)
        rest = rest.dropFirst(2)
        bytes.append(UInt8(digits, radix: 16) ?? UInt8(ascii: "?"))
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The first six digits in a row.
  private static func code(in text: String) -> String? {
    var run = ""
    for character in text.unicodeScalars {
      if ("0"..."9").contains(character) {
        run.unicodeScalars.append(character)
        if run.utf8.count == 6 { return run }
      } else {
        run = ""
      }
    }
    return nil
  }
}
