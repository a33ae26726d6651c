import CountersignEncoding
import HTTPClient

struct GatewayClient: Sendable {
  struct SignedIn: Decodable, Sendable {
    let idToken: String
    let refreshToken: String
  }

  private let transport: HTTPClient
  private let url: String
  private let headers: HTTPHeaders
  private let query: String

  private static let maxAnswerBytes = 64 << 10
  private static let reader = JSONReader(maxBytes: maxAnswerBytes)
  /// Above the time in which the gateway answers in any case.
  private static let timeouts = HTTPTimeouts(total: .seconds(30))

  init(url: String, apiKey: String, app: String, connections: Int) throws(TransportError) {
    transport = try HTTPClient(
      HTTPClient.Configuration(maxConcurrent: connections, maxWaiting: 1_000_000))
    self.url = url
    query = "?key=" + apiKey
    headers = [
      "Content-Type": "application/json", "X-Ios-Bundle-Identifier": app,
      "X-Client-Version": "iOS/FirebaseSDK/11.5.0/FirebaseCore-iOS",
    ]
  }

  func shutdown() async { await transport.shutdown() }

  // MARK: Calls

  func signUp() async throws -> SignedIn {
    try await identity("signUp", [("returnSecureToken", "true")], SignedIn.self)
  }

  func lookUp(_ idToken: String) async throws {
    struct Found: Decodable {
      struct User: Decodable { let localId: String }

      let users: [User]
    }
    _ = try await identity("lookup", [("idToken", idToken)], Found.self)
  }

  func refresh(_ refreshToken: String) async throws {
    struct Refreshed: Decodable {
      let idToken: String

      enum CodingKeys: String, CodingKey {
        case idToken = "id_token"
      }
    }
    _ = try await call(
      "/securetoken.googleapis.com/v1/token", [("grantType", "refresh_token"), ("refreshToken", refreshToken)],
      Refreshed.self)
  }

  func sendCode(_ number: String) async throws -> String {
    struct Sent: Decodable {
      let sessionInfo: String
    }
    return try await identity("sendVerificationCode", [("phoneNumber", number)], Sent.self).sessionInfo
  }

  func signIn(_ session: String, _ code: String) async throws -> SignedIn {
    try await identity("signInWithPhoneNumber", [("sessionInfo", session), ("code", code)], SignedIn.self)
  }

  private func identity<Answer: Decodable>(
    _ name: String, _ fields: [(String, String)], _ answer: Answer.Type
  ) async throws -> Answer {
    try await call("/identitytoolkit.googleapis.com/v1/accounts:" + name, fields, answer)
  }

  private func call<Answer: Decodable>(
    _ path: String, _ fields: [(String, String)], _ answer: Answer.Type
  ) async throws -> Answer {
    let body = fields.map { "\(JSONString.quote($0.0)):\(JSONString.quote($0.1))" }.joined(separator: ",")
    let response = try await transport.send(
      HTTPRequest(
        method: "POST", url: url + path + query, headers: headers, body: Array("{\(body)}".utf8),
        timeouts: Self.timeouts, maxResponseBytes: Self.maxAnswerBytes))
    guard response.status == 200 else { throw Self.refusal(response) }
    return try Self.reader.decode(Answer.self, from: response.body)
  }

  private static func refusal(_ response: HTTPResponse) -> LoadFailure {
    let body = try? reader.decode(Refusal.self, from: response.body)
    return LoadFailure(code: "\(response.status) \(body?.error.message.split(separator: " ").first ?? "")")
  }

  private struct Refusal: Decodable {
    struct Content: Decodable { let message: String }

    let error: Content
  }
}
