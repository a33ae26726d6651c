import CountersignEncoding
import HTTPClient

/// Tests replace the simulator.
protocol SentMessages: Sendable {
  /// The newest SMS, oldest first.
  func messages() async throws(ProtocolError) -> [SentMessage]
  /// The newest mails, oldest first, as plain text.
  func mails() async throws(ProtocolError) -> [SentMessage]
}

struct SimulatorMessages: SentMessages {
  /// Number of SMS to ask for: one for each remembered session, and as many that were sent again.
  private static let limit = 2 * SentCodes.maxSessions
  /// Maximum size of the answer, at about a kilobyte an SMS.
  private static let maxBytes = 4 * 1024 * 1024

  private let client: HTTPClient
  private let url: String
  private let reader = JSONReader(maxBytes: maxBytes)

  init(_ url: String, client: HTTPClient) {
    self.client = client
    self.url = "\(url)/control"
  }

  func messages() async throws(ProtocolError) -> [SentMessage] { try await newest("sms") }

  func mails() async throws(ProtocolError) -> [SentMessage] { try await newest("mails") }

  private func newest(_ kind: String) async throws(ProtocolError) -> [SentMessage] {
    let url = "\(url)/\(kind)?limit=\(Self.limit)"
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
  static let noMessages = ProtocolError(
    status: 503, "The simulator shows no messages: check that it runs, and 'simulatorURL' of the gateway.",
    word: "UNAVAILABLE", reason: "backendError", retryAfter: 1)
}
