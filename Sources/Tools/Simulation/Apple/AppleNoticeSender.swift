import CountersignEncoding
import CountersignTelemetry
import HTTPClient

/// Sends Apple's notifications in the background, each again until it is answered with 200.
final class AppleNoticeSender: Sendable {
  /// Further ones are dropped, as by a provider that gives up.
  private static let maxWaiting = 256
  private static let tries = 5

  private let http: HTTPClient

  init() throws(TransportError) {
    http = try HTTPClient(
      HTTPClient.Configuration(maxConcurrent: 8, maxWaiting: Self.maxWaiting, userAgent: "countersign-simulator"))
  }

  func send(_ payload: String, _ order: AppleNoticeOrder) {
    guard let url = order.url else { return }
    let request = HTTPRequest(
      method: "POST", url: url, headers: ["Content-Type": "application/json"],
      body: Array("{\"payload\":\"\(payload)\"}".utf8))
    Task {
      do {
        try await Task.sleep(for: order.delay)
        for _ in 0..<order.times { try await deliver(request) }
      } catch {
        return
      }
    }
  }

  private func deliver(_ request: HTTPRequest) async throws(CancellationError) {
    for attempt in 1...Self.tries {
      if await http.status(of: request) == 200 { return }
      guard attempt < Self.tries else { return }
      do { try await Task.sleep(for: .seconds(1)) } catch { throw CancellationError() }
    }
  }
}

extension HTTPClient {
  /// 0 without an answer.
  func status(of request: HTTPRequest) async -> Int {
    do { return try await send(request).status } catch { return 0 }
  }
}
