import CountersignTelemetry
import JobEngine

/// What shows Google's APIs who calls (RFC 6750).
struct AccessToken: Sendable {
  let text: Secret
  /// Tells tokens apart, whatever their text.
  let number: Int
  let expiresAt: MonotonicTime
}

/// Why there is no access token. Nothing was asked of the API that it is for.
enum AccessTokenFailure: Error, Sendable, Hashable {
  /// It may come later.
  case transient(Reason, after: Duration?)
  /// Somebody has to mend the account, its key, or this machine.
  case permanent(Reason)

  /// What it means for a job that needed the token.
  var classification: Classification {
    switch self {
    case .transient(let reason, let after): .retry(reason, after: after)
    case .permanent(let reason): .laneDown(reason)
    }
  }

  var reason: Reason {
    switch self {
    case .transient(let reason, _), .permanent(let reason): reason
    }
  }
}
