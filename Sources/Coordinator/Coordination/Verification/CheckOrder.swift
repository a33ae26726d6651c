import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

struct CheckOrder: CommandOrder {
  let verificationID: String
  let code: String
  let expected: ExpectedVerification
  let address: ClientAddress?
  /// Whether its sender may use codes that have a subject.
  private let mayUseSubjects: Bool
  private(set) var fingerprint: [UInt8] = []
  private let service: VerificationService

  func formerFingerprints() -> [[UInt8]] { service.codes.formerFingerprints(of: self) }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try service.records.addKeys(ofID: verificationID, to: &keys)
  }

  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    guard let asked = try service.records.found(verificationID, in: set), let check = LimitedCheck(self, asked),
      !check.isFictional, asked.verification.isLive(at: set.now), asked.verification.isOpen(asked.handle)
    else { return }
    let verification = asked.verification
    try service.limits.addKeys(of: check, to: &keys, at: set.now)
    // With a right code the verification ends, and counts for these.
    service.conversions.addKeys(
      ofPrefix: LimitedSend.prefix(of: verification.phoneNumber), region: verification.region, to: &keys)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.check(self, envelope, in: &set)
  }

  func difference(from verification: PhoneVerification) -> String? {
    if verification.purpose.hasSubject, !mayUseSubjects { return "purpose" }
    return expected.difference(from: verification)
  }
}

extension CheckOrder {
  /// Time after an approval for which accounts may ask for it again, with margin: it takes none that is ten minutes
  /// old.
  static let longestUse = Duration.seconds(900)

  /// A service that makes an account of an approval asks again under the same ID after a crash, for as long as the
  /// session may live: its code has been used up meanwhile, and only this answer still tells that it was right.
  static func answerIsKeptFor(_ rules: CoordinatorRules) -> Duration { rules.policy.maximumLifetime + longestUse }

  /// Malformed input still counts as a wrong attempt.
  init(
    _ command: CheckVerification, _ envelope: Envelope, _ keys: KeyRing, _ service: VerificationService
  ) throws(APIError) {
    let context = SealContext(
      messageType: CheckVerification.type, messageID: envelope.messageID, recipient: command.verificationID)
    let text = try command.code.read(with: keys, context, field: "code")
    verificationID = command.verificationID
    code = CodeText.digits(text.reveal()) ?? ""
    expected = ExpectedVerification(app: command.app, purpose: command.purpose, subject: command.subject)
    address = try ClientAddress(of: command.client)
    mayUseSubjects = service.rules.mayUseSubjects(envelope)
    self.service = service
    fingerprint = service.codes.fingerprint(of: self)
  }
}

extension VerificationCodes {
  fileprivate func fingerprint(of order: CheckOrder) -> [UInt8] { fingerprint(of: order, under: current) }

  fileprivate func formerFingerprints(of order: CheckOrder) -> [[UInt8]] {
    previous.map { [fingerprint(of: order, under: $0)] } ?? []
  }

  private func fingerprint(of order: CheckOrder, under pepper: Pepper) -> [UInt8] {
    let plain = CommandFingerprint.hash(
      CheckVerification.type.text, [order.verificationID] + order.expected.parts)
    return keyed([plain, Array(order.verificationID.utf8), Array(order.code.utf8)], under: pepper)
  }
}

// MARK: - Comparing

extension VerificationService {
  func check(
    _ order: CheckOrder, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    guard let before = try records.found(order.verificationID, in: set) else {
      codes.matchNothing(order.code)
      return CommandAnswer(.unknownVerification)
    }
    if let field = order.difference(from: before.verification) {
      codes.matchNothing(order.code)
      return CommandAnswer(.otherVerification(field))
    }
    let now = set.now
    let limited = LimitedCheck(order, before)
    var asked = before
    var isDecided = false
    var actions = asked.verification.apply(.checkRequested, through: asked.handle, at: now, under: rules.policy)
    if actions == [.compareCode] {
      if let refusal = try admit(limited, in: &set) {
        codes.matchNothing(order.code)
        metrics.count(refusal, in: &set)
        let error = APIError(refusal, of: before, at: now)
        asked = before
        asked.noteRefusedCheck(error, by: envelope.userID, at: now)
        if asked != before { try records.put(asked.verification, before: before.verification, in: &set) }
        return CommandAnswer(error)
      }
      let matches = compare(order.code, with: asked.verification)
      if matches == false { try countWrong(limited, in: &set) }
      if matches == true, let limited { try limits.countRight(limited, in: &set) }
      let event = matches.map { VerificationEvent.codeCompared(matches: $0, by: envelope.userID) } ?? .codeLost
      actions = asked.verification.apply(event, through: asked.handle, at: now, under: rules.policy)
      if matches == nil {
        noteLostCode(of: before.verification, in: &set)
        actions.append(.refuse(.codeLost))
      }
      isDecided = before.verification.state.isLive
    } else {
      codes.matchNothing(order.code)
    }
    if !isDecided {
      for case .refuse(let refusal) in actions {
        asked.noteRefusedCheck(APIError(refusal), by: envelope.userID, at: now)
      }
    }
    if asked != before { try records.put(asked.verification, before: before.verification, in: &set) }
    return try answer(actions, on: asked, nil, envelope, in: &set)
  }

  private func admit(
    _ check: LimitedCheck?, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    guard let check else { return nil }
    return try limits.admitCheck(check, in: &set)
  }

  private func countWrong(
    _ check: LimitedCheck?, in set: inout WorkingSet
  ) throws(StoreError) {
    guard let check else { return }
    set.afterCommit { [metrics, isFictional = check.isFictional] in metrics.countWrongCode(isFictional: isFictional) }
    try limits.countWrong(check, in: &set)
  }

  /// `nil` for a code that is lost.
  private func compare(_ code: String, with verification: PhoneVerification) -> Bool? {
    let matches = codes.matches(code, verification.code, for: verification.id)
    return codes.knowsPepper(of: verification.code) ? matches : nil
  }
}

extension AskedVerification {
  fileprivate mutating func noteRefusedCheck(_ error: APIError, by user: String?, at now: UnixTime) {
    verification.noteRefusedCheck(error.reason ?? error.code.rawValue, by: user, of: handle, at: now)
  }
}

extension APIError {
  /// No requester has to wait until wrong codes of others are over: a new start makes a new code, whose first check is
  /// compared.
  fileprivate init(_ refusal: LimitRefusal, of asked: AskedVerification, at now: UnixTime) {
    guard refusal.limit.isShareOfApproved else {
      self.init(refusal)
      return
    }
    let verification = asked.verification
    let isFirst = asked.handle == PhoneVerification.firstHandle
    let wait = (isFirst ? min(verification.resendAfter, verification.expiresAt) : verification.expiresAt) - now
    self = .wrongCodesUsedUp(refusal, newCodeIn: wait)
  }
}

extension LimitedCheck {
  fileprivate init?(_ order: CheckOrder, _ asked: AskedVerification) {
    let verification = asked.verification
    guard verification.state.isLive else { return nil }
    let isFirst = asked.handle == PhoneVerification.firstHandle
    let before = isFirst ? verification.checks : verification.handles.checks
    self.init(of: asked, from: order.address, isFirstCode: before == 0)
  }

  fileprivate init(of asked: AskedVerification, from address: ClientAddress?, isFirstCode: Bool) {
    let verification = asked.verification
    self.init(
      app: verification.app, number: verification.phoneNumber, address: address,
      isFictional: verification.isTestNumber, isFirstHandle: asked.handle == PhoneVerification.firstHandle,
      isFirstCode: isFirstCode)
  }
}

enum CodeText {
  static let maxLength = 64

  /// The digits of a code: spaces and hyphens are left out, and digits of any script become ASCII ones, since a phone
  /// set to Arabic or Bengali may offer those.
  static func digits(_ text: String) -> String? {
    guard !text.isEmpty, text.utf8.count <= maxLength else { return nil }
    var result = ""
    for scalar in text.unicodeScalars {
      if let digit = digit(scalar) {
        result.append(digit)
      } else if !isFiller(scalar) {
        return nil
      }
    }
    return result.isEmpty ? nil : result
  }

  private static func digit(_ scalar: Unicode.Scalar) -> String? {
    guard scalar.properties.numericType == .decimal, let value = scalar.properties.numericValue else { return nil }
    return String(Int(value))
  }

  private static func isFiller(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace || scalar == "-" || scalar == "\u{2010}" || scalar == "\u{2011}"
      // Marks of writing direction come along when a code is pasted from a right-to-left message.
      || scalar == "\u{200E}" || scalar == "\u{200F}"
  }
}
