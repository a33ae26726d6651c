import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import JobEngine

/// One client of Sign in with Apple: an app (its bundle ID) or a web site (its Services ID), with the key that speaks for it.
///
/// Each client is a lane of its own, so that a key or an ID that is wrong keeps the jobs of no other one waiting.
struct AppleLane: Sendable {
  let name: String
  let clientID: String
  let secret: ClientSecret
  let table: ProviderTable
  let http: any HTTPCaller
  let clock: any WallClock
  private let tokenURL: String
  private let revokeURL: String

  /// What a request came to: an answer, or what it means that there is none.
  enum Outcome: Sendable {
    case answer(AppleAnswer)
    case failed(Classification)
  }

  init(
    name: String, clientID: String, baseURL: String, secret: ClientSecret, table: ProviderTable,
    http: any HTTPCaller, clock: any WallClock
  ) {
    let base = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
    self.name = name
    self.clientID = clientID
    self.secret = secret
    self.table = table
    self.http = http
    self.clock = clock
    tokenURL = "\(base)/auth/token"
    revokeURL = "\(base)/auth/revoke"
  }

  /// Exchanges a code. It works once: a call without an answer may have used it up.
  func exchange(_ code: Secret, redirectURI: String?, timeout: Duration) async -> Outcome {
    var fields = [(name: "grant_type", value: "authorization_code"), (name: "code", value: code.reveal())]
    // Codes of apps must come without one.
    if let redirectURI { fields.append((name: "redirect_uri", value: redirectURI)) }
    return await post(tokenURL, fields, timeout: timeout, isIdempotent: false)
  }

  /// Revokes a token. Apple takes any, however often.
  func revoke(_ token: Secret, hint: String, timeout: Duration) async -> Outcome {
    await post(
      revokeURL, [(name: "token", value: token.reveal()), (name: "token_type_hint", value: hint)], timeout: timeout,
      isIdempotent: true)
  }

  /// Revokes a token that nobody has, which Apple accepts from a client that it knows.
  func probe() async -> ProbeResult {
    let outcome = await revoke(Secret("countersign-probe"), hint: "access_token", timeout: Self.probeTimeout)
    let classification: Classification
    switch outcome {
    case .answer(let answer):
      if answer.isSuccess { return .up }
      classification = answer.classification(table)
    case .failed(let failure): classification = failure
    }
    switch classification {
    case .laneDown(let reason), .retry(let reason, _), .unknown(let reason): return .down(reason)
    // It objects to the token, not to the client.
    case .refused, .otherLane: return .up
    case .accepted, .lost, .continued, .notCalled: return .cannotTell
    }
  }

  private func post(
    _ url: String, _ fields: [(name: String, value: String)], timeout: Duration, isIdempotent: Bool
  ) async -> Outcome {
    let secret: Secret
    do {
      secret = try self.secret.current(now: clock.now())
    } catch {
      return .failed(.laneDown(Reason("PROVIDER_CREDENTIALS", "No client secret can be signed: \(error)")))
    }
    let client = [(name: "client_id", value: clientID), (name: "client_secret", value: secret.reveal())]
    do {
      let response = try await http.send(
        HTTPRequest(
          method: "POST", url: url,
          headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
          body: FormEncoding.encode(client + fields), timeouts: .within(timeout), isIdempotent: isIdempotent,
          maxResponseBytes: Self.maxResponseBytes))
      let answer = AppleAnswer(response, now: clock.now())
      if answer.error == AppleError.invalidClient { self.secret.discard() }
      return .answer(answer)
    } catch {
      return .failed(error.classification)
    }
  }

  private static let probeTimeout: Duration = .seconds(5)
  /// Tokens come to about 2 KiB.
  private static let maxResponseBytes = 32 * 1024
}

/// The words of Apple's that more hangs on than their row of the table.
enum AppleError {
  static let invalidClient = "invalid_client"
}
