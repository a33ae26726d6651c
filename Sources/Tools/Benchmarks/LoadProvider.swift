import CountersignEncoding
import FoundationEssentials
import HTTPServer
import Synchronization

/// Simulates Twilio and, behind a front that speaks HTTP/2, APNs within the benchmark's own process, so that one clock
/// times both the command and the arrival of its message or push.
final class LoadProvider: Sendable {
  /// Receipt and secret of an app's proof, as a silent push delivers them to the device.
  struct Proof: Decodable, Sendable {
    let receipt: String
    let secret: String
  }

  let messages = Arrivals<String>()
  let pushes = Arrivals<Proof>()
  private let number = Mutex(0)

  var repeated: Int { messages.repeated + pushes.repeated }

  private static let maxBodyBytes = 16 << 10
  private static let arrivalTimeout: Duration = .seconds(60)

  func listen(port: UInt16) throws -> HTTPServer {
    try HTTPServer(host: "127.0.0.1", port: port, maxBodyBytes: Self.maxBodyBytes) { [self] request in
      guard request.method == "POST" else { return .respond(HTTPServerResponse(status: 405, text: "")) }
      let now = ContinuousClock.now
      let parts = request.path.split(separator: "/")
      return .respond(
        parts.starts(with: ["3", "device"]) && parts.count == 3
          ? push(request, to: String(parts[2]), now) : message(request, now))
    }
  }

  func serving<Output: Sendable>(port: UInt16, _ body: () async throws -> Output) async throws -> Output {
    let server = try listen(port: port)
    let watch = Task {
      while !Task.isCancelled {
        try await Task.sleep(for: .seconds(1))
        giveUp(after: Self.arrivalTimeout)
      }
    }
    defer { watch.cancel() }
    let output = try await body()
    await server.stop()
    return output
  }

  func giveUp(after limit: Duration) {
    messages.giveUp(after: limit)
    pushes.giveUp(after: limit)
  }

  // MARK: Twilio

  private func message(_ request: HTTPServerRequest, _ now: ContinuousClock.Instant) -> HTTPServerResponse {
    let form = Dictionary(FormEncoding.decode(request.body).map { ($0.name, $0.value) }) { first, _ in first }
    guard let recipient = form["To"], let text = form["Body"], let code = Self.code(in: text) else {
      return HTTPServerResponse(status: 400, contentType: "application/json", text: #"{"code":21604,"status":400}"#)
    }
    messages.add(code, for: recipient, at: now)
    let id = number.withLock { number in
      number += 1
      return number
    }
    return HTTPServerResponse(
      status: 201, contentType: "application/json",
      text: #"{"sid":"SM\#(id)","status":"queued","num_segments":"1","error_code":null}"#)
  }

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

  // MARK: APNs

  private struct Payload: Decodable {
    let proof: Proof

    /// Key that the app's SDK reads, the worker's default.
    enum CodingKeys: String, CodingKey {
      case proof = "com.google.firebase.auth"
    }
  }

  private static let reader = JSONReader(maxBytes: maxBodyBytes)

  private func push(
    _ request: HTTPServerRequest, to device: String, _ now: ContinuousClock.Instant
  ) -> HTTPServerResponse {
    do {
      pushes.add(try Self.reader.decode(Payload.self, from: request.body).proof, for: device, at: now)
      return HTTPServerResponse(status: 200, text: "")
    } catch {
      return HTTPServerResponse(status: 400, contentType: "application/json", text: #"{"reason":"PayloadEmpty"}"#)
    }
  }
}
