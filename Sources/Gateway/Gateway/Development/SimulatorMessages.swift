import CountersignEncoding
import HTTPClient

/// Messages that providers accepted. Tests replace the simulator.
protocol SentMessages: Sendable {
  /// The newest SMS, oldest first.
  func messages() async throws(ProtocolError) -> [SentMessage]
}

/// SMS that the simulator shows.
struct SimulatorMessages: SentMessages {
  /// Number of SMS to ask for: one for each remembered session, and as many that were sent again.
  private static let limit = 2 * SentCodes.maxSessions
  /// Maximum size of the answer, at about a kilobyte an SMS.
  private static let maxBytes = 4 * 1024 * 1024

  private let client: HTTPClient
  private let url: String
  private let reader = JSONReader(maxBytes: maxBytes)

  /// - Parameter url: address of the simulator: `http://127.0.0.1:8090`.
  init(_ url: String, client: HTTPClient) {
    self.client = client
    self.url = "\(url)/control/sms?limit=\(Self.limit)"
  }

  func messages() async throws(ProtocolError) -> [SentMessage] {
    let request = HTTPRequest(method: "GET", url: url, isIdempotent: true, maxResponseBytes: Self.maxBytes)
    do {
      let response = try await client.send(request)
      guard response.status == 200 else { throw ProtocolError.noMessages }
      return try reader.decode([SentMessage].self, from: response.body)
    } catch {
      throw .noMessages
    }
  }
}

extension ProtocolError {
  /// The simulator does not say which SMS were sent.
  static let noMessages = ProtocolError(
    status: 503, "The simulator shows no SMS: check that it runs, and 'simulatorURL' of the gateway.",
    word: "UNAVAILABLE", reason: "backendError", retryAfter: 1)
}
