import CommandEngine
import CountersignMessages

/// `development.reset`, and what else a coordinator does in development only.
struct DevelopmentFlow: Flow {
  private let rules: CoordinatorRules

  init(_ rules: CoordinatorRules) {
    self.rules = rules
  }

  var commands: [CommandKind] {
    [
      CommandKind(ResetDevelopment.self) { [rules] _, envelope, _ throws(APIError) in
        guard rules.isDevelopment else { throw .notInDevelopment }
        guard let user = envelope.userID, rules.gateways.contains(user) || rules.operators.contains(user) else {
          throw .notAResetter
        }
        return ResetDevelopmentOrder()
      }
    ]
  }
}

/// `development.reset`: empties the counters of all limits, and of the conversion.
///
/// They go before the transaction, which changes nothing, so the answer is not recorded: the same command empties them
/// again.
struct ResetDevelopmentOrder: CommandOrder {
  var stage: CommandStage? {
    CommandStage { access throws(StoreError) in
      _ = try await access.store.forgetCounters()
      return self
    }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try CommandAnswer(DevelopmentReset())
  }
}

extension CoordinatorRules {
  /// Refuses a command of a gateway for an app whose callers are trusted: a gateway vouches for nobody.
  func checkTrust(of app: AppProfile, _ envelope: Envelope) throws(APIError) {
    guard app.verification == .trusted, let user = envelope.userID, gateways.contains(user), !isDevelopment else {
      return
    }
    throw .trustedOverHTTP
  }
}

extension APIError {
  static let notInDevelopment = APIError(
    .operationNotAllowed,
    "limits are emptied in development only: set 'development: true' in the configuration of a coordinator that serves no users",
    reason: "NOT_IN_DEVELOPMENT")
  static let notAResetter = APIError(
    .operationNotAllowed,
    "limits are emptied for users of the broker that 'gateways' or 'operators' in the configuration of the coordinator names: send it as one of them, with user_id set",
    field: "user_id")
  static let trustedOverHTTP = APIError(
    .operationNotAllowed,
    "this app is not reached over HTTP, because its callers are trusted: set its 'verification' in the configuration of the coordinator to push, recaptcha or audit, or 'development: true' where no users are served",
    field: "app", reason: "TRUSTED_OVER_HTTP")
}
