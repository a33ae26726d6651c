import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A number whose code was given back.
struct ProvenNumber: ProvenFactor {
  enum Source: Sendable, Hashable {
    case code, temporaryProof
  }

  /// E.164.
  let number: String
  let app: String
  /// A fictional number's fixed code proves nothing.
  let isFictional: Bool
  let source: Source

  let provider = SignInProvider.phone
  let identity: SignedInIdentity? = nil
  let ownsAddress = false

  func key(project: String) throws(StoreError) -> UniqueKey {
    try AccountRecord.key(ofNumber: number, project: project)
  }

  func addressKey(project: String) -> UniqueKey? { nil }

  func refusal(by holder: AccountRecord) -> APIError? {
    isFictional && !holder.isNumberFictional ? .numberProvenForReal : nil
  }

  func act(on account: AccountRecord) -> SensitiveAct? { Self.act(on: account, number: number) }

  /// - Parameter number: `nil` while it is not known.
  static func act(on account: AccountRecord, number: String?) -> SensitiveAct? {
    guard account.phoneNumber != nil else { return .linking }
    return account.phoneNumber == number ? nil : .changeOfNumber
  }

  func fits(_ account: AccountRecord) -> Bool { true }

  /// The account's own number is never its second factor.
  func refusal(ofLinkTo account: AccountRecord) -> APIError? {
    account.secondFactor(byNumber: number) == nil ? nil : .numberOfBothFactors
  }

  func joins(_ neighbor: AccountRecord) -> Bool { false }

  func trustedFrom(on neighbor: AccountRecord, at now: UnixTime) -> UnixTime? { nil }

  /// Anyone who knows the fixed code may have put an identity there. A disabled account keeps its number.
  func supersedes(_ holder: AccountRecord) -> Bool {
    !isFictional && holder.isNumberFictional && !holder.identities.isEmpty && !holder.isDisabled
  }

  var isSpentByRefusal: Bool { false }

  func put(on account: inout AccountRecord, trustedFrom: UnixTime?, ownsAddress: Bool, at now: UnixTime) {
    account.numberTrustedFrom = trustedFrom
    account.phoneNumber = number
    account.isNumberFictional = isFictional
    account.isAnonymous = false
  }

  var proof: FirstProof { FirstProof(isNumberReal: !isFictional) }

  func renew(_ account: inout AccountRecord, ownsAddress: Bool) {
    if !isFictional { account.isNumberFictional = false }
  }

  /// A user who just entered the code of a number may sign in to the account that has it. Only a code yields a proof; a
  /// proof never yields another.
  func refuse(
    _ refusal: SignInRefusal, _ desk: RefusalDesk, in set: inout WorkingSet
  ) throws(StoreError) -> SignInOutcome {
    // The code or the proof may come again, once the user has consented.
    if refusal == .consentRequired { return .refused(.consentRequired) }
    guard refusal == .alreadyLinked else { return .refused(.userNotFound) }
    guard source == .code else {
      return SignInOutcome(answer: CommandAnswer(.phoneNumberExists), usesProof: true)
    }
    let content = PhoneProof(number: number, isFictional: isFictional)
    let (text, ticket) = try desk.ticket(.phoneProof, content, app: app, in: &set)
    let answer = try desk.answers.proof(text, of: number, expiresAt: ticket.expiresAt, at: set.now)
    return SignInOutcome(answer: answer, usesProof: true)
  }
}

/// Content of a temporary proof: its number was given back to the app of its ticket.
struct PhoneProof: Sendable, FieldCoded {
  /// E.164.
  let number: String
  let isFictional: Bool

  init(number: String, isFictional: Bool) {
    self.number = number
    self.isFictional = isFictional
  }

  init(_ fields: inout FieldCoder, _ proof: Self?) throws(UnreadableFields) {
    number = try fields.required(1, proof?.number)
    isFictional = fields.flag(2, proof?.isFictional)
  }
}
