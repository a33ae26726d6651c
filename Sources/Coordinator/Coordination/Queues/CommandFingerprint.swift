import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import PhoneNumbers

// Fingerprints of commands: they distinguish orders under the same sender and `message_id`.

extension CommandRequest.Change {
  /// Distinguishes orders under the same `message_id`.
  ///
  /// The body's bytes are not part of it, since a sender that tries again may write the same JSON in another order and
  /// seal the same code anew; nor is the code of a check, which ``VerificationCodes/fingerprint(of:)`` adds under its
  /// key.
  /// - Parameter isFormer: whether keyed hashes in it are those under the previous pepper.
  func fingerprint(isFormer: Bool = false) -> [UInt8] {
    let (name, parts) =
      switch self {
      case .start(let order): (StartVerification.type.text, order.fingerprintParts(isFormer: isFormer))
      case .check(let order):
        (
          CheckVerification.type.text,
          [order.verificationID, order.app ?? "", order.purpose?.rawValue ?? "", order.subject ?? ""]
        )
      case .cancel(let id): (CancelVerification.type.text, [id])
      case .verifyApp(let order):
        (
          VerifyApp.type.text,
          [order.proof.app, order.proof.environment.rawValue, Self.text(order.proof.token, isFormer: isFormer)]
        )
      case .revoke(let order):
        (StartRevocation.type.text, [order.app.id, Self.text(order.token, isFormer: isFormer)])
      case .liftBlock(let key): (LiftConversionBlock.type.text, [key])
      // Neither the command nor its answer is recorded.
      case .forget: (ForgetNumber.type.text, [])
      }
    return Self.hash(name, parts)
  }

  /// The fingerprint before version 10, which covered less of a start and a check, and no code; `nil` when it is
  /// unchanged.
  var earlierFingerprint: [UInt8]? {
    switch self {
    case .start(let order): Self.hash(StartVerification.type.text, [order.app.id, order.number.e164])
    case .check(let order): Self.hash(CheckVerification.type.text, [order.verificationID])
    case .cancel, .verifyApp, .revoke, .liftBlock, .forget: nil
    }
  }

  private static func text(_ hash: TokenHash, isFormer: Bool) -> String {
    Base64URL.encode(isFormer ? hash.earlier ?? hash.current : hash.current)
  }

  private static func hash(_ name: String, _ parts: [String]) -> [UInt8] {
    SHA256.hash(Array(([name] + parts).joined(separator: "\u{0}").utf8))
  }
}

extension StartOrder {
  fileprivate func fingerprintParts(isFormer: Bool) -> [String] {
    var action = ""
    if case .captcha(let captcha)? = proof?.evidence { action = captcha.action ?? "" }
    return [
      app.id, number.e164, key.purpose.rawValue, key.subject ?? "", Base64URL.encode(claim.text(isFormer: isFormer)),
      action,
    ]
  }
}

extension VerificationCodes {
  /// The fingerprint to record. It is keyed for a start and a check: a plain hash would reveal a number or a code to a
  /// quick search.
  func fingerprint(of order: CommandRequest.Change) -> [UInt8] {
    Self.keyed(order, under: current) ?? order.fingerprint()
  }

  /// Whether the recorded fingerprint belongs to the same order, under either pepper and in any version. The former
  /// fingerprints are computed only if the present one differs: the first delivery of a message needs none of them.
  func isSame(_ request: CommandRequest, as recorded: [UInt8]) -> Bool {
    if recorded == request.fingerprint { return true }
    guard case .change(let change) = request.order else { return false }
    return formerFingerprints(of: change).contains(recorded)
  }

  /// Other fingerprints under which the same order may be recorded: under the previous pepper while the configuration
  /// names it, and in the formats of earlier versions.
  private func formerFingerprints(of order: CommandRequest.Change) -> [[UInt8]] {
    var all = [order.earlierFingerprint].compactMap { $0 }
    if let previous {
      all.append(Self.keyed(order, under: previous, isFormer: true) ?? order.fingerprint(isFormer: true))
    }
    if case .start = order { all += [order.fingerprint(), order.fingerprint(isFormer: true)] }
    return all
  }

  /// - Returns: `nil` for an order without guessable content: in the others the guessable parts are keyed already.
  private static func keyed(_ order: CommandRequest.Change, under pepper: Pepper, isFormer: Bool = false) -> [UInt8]? {
    let parts: [[UInt8]]
    switch order {
    case .start: parts = []
    case .check(let check): parts = [Array(check.verificationID.utf8), Array(check.code.utf8)]
    case .cancel, .verifyApp, .revoke, .liftBlock, .forget: return nil
    }
    return pepper.key.authenticate(framed("countersign message", [order.fingerprint(isFormer: isFormer)] + parts))
  }
}
