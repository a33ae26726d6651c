import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// An address whose mail the user has just read: the code of its link came back.
struct ProvenEmail: ProvenFactor {
  let email: String

  var provider: SignInProvider { .password }
  var method: Project.Method? { .emailLink }

  var identity: SignedInIdentity? {
    var identity = SignedInIdentity(providerID: provider.name, federatedID: email)
    identity.email = email
    identity.emailVerified = true
    return identity
  }

  /// The key of the address is what opens an account, so that none is its neighbor.
  func addressKey(project: String) throws(StoreError) -> UniqueKey? { nil }
  var ownsAddress: Bool { false }

  func key(project: String) throws(StoreError) -> UniqueKey {
    try AccountRecord.key(ofEmail: email, project: project)
  }

  func refusal(by holder: AccountRecord) -> APIError? { nil }

  func act(on account: AccountRecord) -> SensitiveAct? { account.isReached(at: email) ? nil : .linking }

  func fits(_ account: AccountRecord) -> Bool { account.email == nil || account.isReached(at: email) }

  func joins(_ neighbor: AccountRecord) -> Bool { false }
  func trustedFrom(on neighbor: AccountRecord, at now: UnixTime) -> UnixTime? { nil }
  func supersedes(_ holder: AccountRecord) -> Bool { false }
  var isSpentByRefusal: Bool { false }

  func put(on account: inout AccountRecord, trustedFrom: UnixTime?, ownsAddress: Bool, at now: UnixTime) {
    renew(&account, ownsAddress: ownsAddress)
    account.emailTrustedFrom = trustedFrom
  }

  var proof: FirstProof { FirstProof(address: email) }

  func renew(_ account: inout AccountRecord, ownsAddress: Bool) {
    account.prove(email)
    account.signsInByLink = true
    account.isAnonymous = false
  }

  func refuse(
    _ refusal: SignInRefusal, _ desk: RefusalDesk, in set: inout WorkingSet
  ) throws(StoreError) -> SignInOutcome {
    switch refusal {
    case .unknown: .refused(.userNotFound)
    case .consentRequired: .refused(.consentRequired)
    case .alreadyLinked, .emailExists, .unconfirmed: .refused(.addressTaken)
    }
  }
}
