import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Content of a pending credential: a first factor that suffices together with a second one.
struct PendingSignIn: Sendable {
  /// Time for which it counts: a sign-in is recent by its second factor, so the first one must not be old.
  static let lifetime = Duration.seconds(600)

  let account: RecordID
  /// Distinguishes the account from a later one with the same ID.
  let accountCreatedAt: UnixTime
  let provider: SignInProvider
  /// Claims of the session, as a JSON object.
  let claims: String?
  let begunAt: UnixTime
  /// Number of the account, which a sign-in by it proved.
  private let number: String?
  let proof: FirstProof

  init(
    of account: AccountRecord, by provider: SignInProvider, _ proof: FirstProof, claims: String?, at now: UnixTime
  ) {
    self.proof = proof
    self.account = account.id
    accountCreatedAt = account.createdAt
    self.provider = provider
    self.claims = claims
    number = provider == .phone ? account.phoneNumber : nil
    // With clocks of two hosts, the account may have ended earlier sessions a moment later than now.
    begunAt = max(now, account.validSince)
  }

  /// Whether its first factor still opens the account. A password that was changed since, and an identity or a number
  /// that is gone, do not.
  func stands(on account: AccountRecord) -> Bool {
    guard account.createdAt == accountCreatedAt, begunAt >= account.validSince else { return false }
    switch provider {
    case .custom: return true
    case .phone: return account.phoneNumber != nil && account.phoneNumber == number
    case .password where proof.address != nil:
      // A link makes the way in by itself.
      return proof.address.map(account.isReached) ?? false && account.passwordChangedAt.map { $0 <= begunAt } ?? true
    case .password: return account.signsInByEmail && account.passwordChangedAt.map { $0 <= begunAt } ?? true
    default: return account.identity(at: provider.name).map { $0.linkedAt <= begunAt } ?? false
    }
  }
}

extension PendingSignIn: FieldCoded {
  init(_ fields: inout FieldCoder, _ pending: Self?) throws(UnreadableFields) {
    guard let id = RecordID(AccountRecord.kind, try fields.required(1, pending?.account.text)) else {
      throw UnreadableFields()
    }
    account = id
    accountCreatedAt = try fields.required(2, pending?.accountCreatedAt)
    provider = SignInProvider(name: try fields.required(3, pending?.provider.name))
    claims = fields.optional(4, pending?.claims)
    begunAt = try fields.required(5, pending?.begunAt)
    number = fields.optional(6, pending?.number)
    proof = try FirstProof(&fields, pending?.proof)
  }
}

/// Facts that a first factor has proven: until the second one is given, they change nothing of the account.
struct FirstProof: Sendable {
  /// Whether a number was proven, and not by a fixed code.
  var isNumberReal = false
  /// Address whose link came back.
  var address: String?
  /// Without its grant, which the account gets at once.
  var identity: ProvenIdentity?

  /// The factor, to renew the account by. `nil` for one that renews nothing.
  func factor(of account: AccountRecord) -> (any ProvenFactor)? {
    if let identity {
      return PresentedIdentity(proven: identity, source: .pendingToken, app: nil, returnsCredential: false)
    }
    if let address { return ProvenEmail(email: address) }
    guard isNumberReal, let number = account.phoneNumber else { return nil }
    return ProvenNumber(number: number, app: "", isFictional: false, source: .code)
  }
}

extension FirstProof {
  /// Fields among those of ``PendingSignIn``.
  fileprivate init(_ fields: inout FieldCoder, _ proof: Self?) throws(UnreadableFields) {
    isNumberReal = fields.flag(7, proof?.isNumberReal)
    address = fields.optional(8, proof?.address)
    identity = try fields.optional(9, proof?.identity)
  }
}

/// A pending credential with its account.
struct OpenPendingSignIn {
  let ticket: Ticket
  let content: PendingSignIn
  let account: AccountRecord
}

extension Tickets {
  /// - Parameter texts: IDs of the pending credential, which the caller has loaded.
  func pendingSignIn(
    _ ids: [RecordID], project: String, in set: WorkingSet
  ) throws(StoreError) -> Result<OpenPendingSignIn, APIError> {
    let found: OpenTicket<PendingSignIn>? = try find(ids, .secondFactor, project: project, in: set)
    guard let found else { return .failure(.invalidPendingCredential) }
    var keys = StoreKeys()
    keys.add(record: found.content.account)
    try set.require(keys)
    guard let account = try AccountRecord.find(found.content.account, project: project, in: set),
      found.content.stands(on: account)
    else { return .failure(.invalidPendingCredential) }
    guard !account.isDisabled else { return .failure(.userDisabled) }
    return .success(OpenPendingSignIn(ticket: found.ticket, content: found.content, account: account))
  }
}

extension APIError {
  static let invalidPendingCredential = APIError(
    .invalidPendingCredential, "the pending credential is wrong, used or too old: sign in again",
    field: "pendingCredential")
}
