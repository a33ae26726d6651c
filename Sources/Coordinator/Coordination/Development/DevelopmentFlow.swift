import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct DevelopmentFlow: Flow {
  let rules: CoordinatorRules
  let metrics: CoordinatorMetrics

  var commands: [CommandKind] {
    [
      CommandKind(ResetDevelopment.self) { [rules, metrics] _, envelope, _ throws(APIError) in
        guard rules.isDevelopment else { throw .notInDevelopment }
        guard let user = envelope.userID, rules.gateways.contains(user) || rules.operators.contains(user) else {
          throw .notAResetter
        }
        return ResetDevelopmentOrder(metrics: metrics)
      }
    ]
  }
}

/// `development.reset`: deletes all verifications, and empties the counters of all limits and of the conversion.
///
/// They go before the transaction, which changes nothing, so the answer is not recorded: the same command deletes them
/// again. Nothing is announced of them.
struct ResetDevelopmentOrder: CommandOrder {
  /// Time by which every verification is due: more than the longest retention.
  private static let horizon = Duration.seconds(100 * 86_400)

  let metrics: CoordinatorMetrics

  var stage: CommandStage? {
    CommandStage(changesStore: true) { access throws(StoreError) in
      while !Task.isCancelled, try await removeSome(access) {}
      if Task.isCancelled { throw StoreError(.unavailable, "the reset was ended before its end") }
      _ = try await access.store.forgetCounters()
      return self
    }
  }

  private func removeSome(_ access: StageAccess) async throws(StoreError) -> Bool {
    let claim = DueClaim(VerificationRecords.kind)
    let outcome = try await access.store.sweep(claim, at: access.now() + Self.horizon) {
      (records, set) throws(StoreError) in
      for record in records { try set.remove(record.id) }
      return records.count { record in record.uniqueKeys.contains { $0.space == VerificationRecords.live } }
    }
    guard case .stored(let swept, messages: _) = outcome else {
      // Another writer was faster.
      await Task.yield()
      return true
    }
    metrics.liveVerifications.add(-Double(swept.result))
    return swept.rows > 0
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try CommandAnswer(DevelopmentReset())
  }
}

extension CoordinatorRules {
  /// Refuses a command of a gateway for an app whose callers are trusted: a gateway cannot vouch for its callers.
  ///
  /// - Parameter isOfFactor: whether a second factor is started. Accounts starts those for callers of a gateway.
  func checkTrust(of app: AppProfile, _ envelope: Envelope, isOfFactor: Bool = false) throws(APIError) {
    guard app.verification == .trusted, let user = envelope.userID, !isDevelopment,
      gateways.contains(user) || isOfFactor && user == Topology.Users.accounts
    else { return }
    throw .trustedOverHTTP
  }

  /// Whether the sender may start and check verifications that have a subject. A gateway may not: accounts knows whose
  /// factor a number is, and which service asks.
  func mayUseSubjects(_ envelope: Envelope) -> Bool { envelope.userID.map { !gateways.contains($0) } ?? true }

  /// Whether the sender vouches for its caller, so that a start needs no proof of any app. Accounts does so for
  /// services, whose access token it has checked.
  func vouchesForCallers(_ envelope: Envelope, _ purpose: VerificationPurpose) -> Bool {
    purpose == .verification && envelope.userID == Topology.Users.accounts
  }
}

extension APIError {
  static let notInDevelopment = APIError(
    .operationNotAllowed,
    "verifications and limits are reset in development only: set 'development: true' in the configuration of a coordinator that serves no users",
    reason: "NOT_IN_DEVELOPMENT")
  static let notAResetter = APIError(
    .operationNotAllowed,
    "verifications and limits are reset for users of the broker that 'gateways' or 'operators' in the configuration of the coordinator names: send it as one of them, with user_id set",
    field: "user_id")
  static let subjectOverHTTP = APIError(
    .operationNotAllowed,
    "verifications with a subject are not started for a gateway: it sends account.startSecondFactor or account.startVerification to accounts",
    field: "purpose", reason: "FACTOR_OVER_HTTP")
  static let trustedOverHTTP = APIError(
    .operationNotAllowed,
    "this app is not reached over HTTP, because its callers are trusted: set its 'verification' in the configuration of the coordinator to push, recaptcha or audit, or 'development: true' where no users are served",
    field: "app", reason: "TRUSTED_OVER_HTTP")
}
