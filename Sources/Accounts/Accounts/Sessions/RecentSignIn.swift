import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Act that may need a sign-in of the last minutes: an ID token alone, which services of all kinds get to see, must not
/// give an account away.
enum SensitiveAct: Sendable {
  case deletion, changeOfNumber, removalOfNumber, changeOfCredential, linking

  /// Age up to which a sign-in is recent.
  static let longestAge = Duration.seconds(300)
  /// Time for which sign-ins by a number or an identity are not recent that was put on the account without a recent
  /// sign-in. Its owner can undo it meanwhile.
  static let distrust = Duration.seconds(86_400)

  /// An anonymous account has no sign-in that could be repeated, nor has one that lost all ways to sign in, which may
  /// be deleted.
  ///
  /// - Parameter hasWayIn: whether the user can sign in again although the account knows no way to.
  func check(
    on account: AccountRecord, isRecent: Bool, hasWayIn: Bool = false, _ rules: Project.RecentLogin
  ) throws(APIError) {
    guard !isRecent, !account.isAnonymous else { return }
    let isRefused =
      switch self {
      case .deletion: account.hasWayIn || hasWayIn
      case .changeOfNumber, .removalOfNumber: rules.phone
      case .changeOfCredential: true
      // A way to sign in that is put on it or taken from it changes who holds the other proofs of it.
      case .linking: rules.linking || !account.secondFactors.isEmpty
      }
    if isRefused { throw .credentialTooOld }
  }
}

extension IDTokenCheck.Holder {
  /// Whether the session began within the last minutes, by a way that is trusted. A sign-in from the future does not
  /// count: the clock was set back, and tokens then say that the sign-in was when they were made.
  func isRecent(at now: UnixTime) -> Bool {
    let age = now - session.authTime
    guard age >= .zero - IDTokens.maxSkew, age <= SensitiveAct.longestAge else { return false }
    switch session.firstFactor {
    case .anonymous, .custom: return true
    case .password: return account.signsInByEmail && isTrusted(from: account.emailTrustedFrom)
    case .phone: return isTrusted(from: account.numberTrustedFrom)
    case let provider:
      // One that was unlinked vouches for nothing: it may have been put there a moment before. Nor does another one of
      // the provider that took its place since.
      guard let identity = account.identity(at: provider.name), session.authTime >= identity.linkedAt else {
        return false
      }
      return isTrusted(from: identity.trustedFrom)
    }
  }

  private func isTrusted(from time: UnixTime?) -> Bool { time.map { session.authTime >= $0 } ?? true }

  func require(_ act: SensitiveAct, _ rules: Project.RecentLogin, at now: UnixTime) throws(APIError) {
    try act.check(on: account, isRecent: isRecent(at: now), hasWayIn: session.firstFactor == .custom, rules)
  }
}
