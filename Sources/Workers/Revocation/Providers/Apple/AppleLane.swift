import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine

/// Each client (an app or a web site) is a lane of its own, so that a wrong key or ID delays the jobs of no other
/// client.
struct AppleLane: HTTPLane {
  let context: LaneContext
  let clientID: String
  let secret: ClientSecret
  var probeTimeout: Duration = .seconds(5)
  private let tokenURL: String
  private let revokeURL: String

  /// Tokens come to about 2 KiB.
  static let maxResponseBytes = 32 * 1024

  init(_ context: LaneContext, clientID: String, baseURL: String, secret: ClientSecret) {
    let base = LaneRequest.base(baseURL)
    self.context = context
    self.clientID = clientID
    self.secret = secret
    tokenURL = "\(base)/auth/token"
    revokeURL = "\(base)/auth/revoke"
  }

  func send(_ call: RevocationCall, _ attempt: JobAttempt) async -> Classification {
    let classification = await context.http.perform(self, call, attempt).classification
    guard Self.refusesClient(classification) else { return classification }
    secret.discard()
    // A known client leaves only the redirect URI as the reason.
    if case .exchange(_, .some) = call.step, await probe() == .up { return .refused(.redirectMismatch) }
    return classification
  }

  /// Revokes a token that does not exist, which Apple accepts from a known client.
  func probe() async -> ProbeResult {
    let call = RevocationCall(step: .revoke(token: Secret("countersign-probe"), hint: "access_token"))
    let now = context.clock.now()
    let attempt = JobAttempt(
      job: MessageIdentity(sender: SenderRule.unnamed, messageID: "probe"), deadline: now + probeTimeout,
      timeout: probeTimeout, startedAt: now)
    let classification = await context.http.perform(self, call, attempt).classification
    if Self.refusesClient(classification) { secret.discard() }
    switch classification {
    case .accepted: return .up
    case .laneDown(let reason), .retry(let reason, _), .unknown(let reason): return .down(reason)
    // Apple objects to the token, not to the client.
    case .refused, .otherLane: return .up
    case .lost, .continued, .notCalled: return .cannotTell
    }
  }

  func request(_ call: RevocationCall, _ attempt: JobAttempt) -> PreparedRequest<HTTPRequest> {
    let secret: Secret
    do {
      secret = try self.secret.current(now: context.clock.now())
    } catch {
      return .impossible(.laneDown(Reason("PROVIDER_CREDENTIALS", "No client secret can be signed: \(error)")))
    }
    var fields = [(name: "client_id", value: clientID), (name: "client_secret", value: secret.reveal())]
    let url: String
    let isIdempotent: Bool
    switch call.step {
    case .exchange(let code, let redirectURI):
      // A code works once: a call without an answer may have used it up.
      (url, isIdempotent) = (tokenURL, false)
      fields += [(name: "grant_type", value: "authorization_code"), (name: "code", value: code.reveal())]
      // Codes of apps must come without one.
      if let redirectURI { fields.append((name: "redirect_uri", value: redirectURI)) }
    case .revoke(let token, let hint):
      // Apple takes any token, however often.
      (url, isIdempotent) = (revokeURL, true)
      fields += [(name: "token", value: token.reveal()), (name: "token_type_hint", value: hint)]
    }
    return .request(
      HTTPRequest(
        method: "POST", url: url,
        headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
        body: FormEncoding.encode(fields), timeouts: .within(attempt.timeout), isIdempotent: isIdempotent,
        maxResponseBytes: Self.maxResponseBytes))
  }

  func classify(_ response: HTTPResponse, of call: RevocationCall) -> Classification {
    let answer = AppleAnswer(response, now: context.clock.now())
    switch call.step {
    case .revoke:
      guard answer.isSuccess else { return answer.classification(context.table) }
      return .accepted(reference: nil, extras: [RevocationStage.key: RevocationStage.revoked.value])
    case .exchange:
      if answer.isSuccess {
        guard let token = answer.token, let nextStage = call.nextStage else { return .lost(.lost) }
        return nextStage.outcome(token, of: answer.subject)
      }
      let classification = answer.classification(context.table)
      // An earlier call may have used the code up: the refusal says nothing about its token.
      if case .refused = classification, call.unknownCalls > 0 { return .lost(.lost.with(providerCode: answer.error)) }
      return classification
    }
  }

  private static func refusesClient(_ classification: Classification) -> Bool {
    switch classification {
    case .refused(let reason, _), .otherLane(let reason, _), .retry(let reason, _), .unknown(let reason),
      .lost(let reason, _), .laneDown(let reason), .notCalled(let reason, _):
      reason.providerCode == AppleError.invalidClient
    case .accepted, .continued: false
    }
  }
}
