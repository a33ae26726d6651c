import CountersignMessages
import Projects

/// Rule of consents to linking: Sign in with Apple and other data come together on an account only if its user has
/// agreed, where the project demands that.
///
/// Other data are what ``Consent/data`` names: a number, an address of the account's own, identities of other providers
/// and second factors. What was together before stays, also without a consent. Of an address of the account's own:
///
/// - One that an identity of the account had before is none, until a password or links sign in by it.
/// - One that was never proven, and is that of the Apple identity that comes, is none either: what else its maker put on
///   the account goes.
struct LinkingConsent: Sendable {
  private static let apple = AppleSettings.id

  let isRequired: Bool

  /// - Parameter project: `nil` for one that accounts does not know any longer.
  init(_ project: Project?) {
    isRequired = project?.consent.linking == .require
  }

  /// Whether an account may become another one.
  func allows(_ account: AccountRecord, from before: AccountRecord) -> Bool {
    guard isRequired, let apple = account.identity(at: Self.apple) else { return true }
    let isLinked = before.identity(at: Self.apple) != nil
    let addresses = isLinked ? before.identities.compactMap(\.email) : before.isEmailVerified ? [] : [apple.email]
    var added = Self.data(of: account)
    if isLinked { added.subtract(Self.data(of: before)) }
    for address in addresses.compactMap({ $0?.normalizedAddress }) { added.remove(.address(address)) }
    return Set(added.map(\.name)).isSubset(of: Self.consented(account))
  }

  private static func consented(_ account: AccountRecord) -> [String] {
    account.consent(to: Consent.linking).flatMap { $0.isInForce ? $0.consent.data : nil } ?? []
  }

  private enum Datum: Hashable {
    case number(String)
    case address(String)
    case signInByAddress
    case identity(provider: String, subject: String)
    case secondFactor(String)

    /// As consents name it.
    var name: String {
      switch self {
      case .number: "phone"
      case .address, .signInByAddress: "email"
      case .identity(let provider, _): provider
      case .secondFactor: "secondFactor"
      }
    }
  }

  private static func data(of account: AccountRecord) -> Set<Datum> {
    var data = Set(account.secondFactors.map { Datum.secondFactor($0.enrollmentID) })
    if let number = account.phoneNumber { data.insert(.number(number)) }
    if let email = account.email { data.insert(.address(email.normalizedAddress)) }
    if account.signsInByEmail { data.insert(.signInByAddress) }
    for identity in account.identities where identity.provider != apple {
      data.insert(.identity(provider: identity.provider, subject: identity.subject))
    }
    return data
  }
}

extension CommandReader {
  func linkingConsent(of project: String) -> LinkingConsent { LinkingConsent(rules.projects.current[project]) }
}

extension APIError {
  static let consentRequired = APIError(
    .consentRequired,
    "the project demands a recorded consent to linking Sign in with Apple, and there is none: see "
      + "account.recordConsent")
}
