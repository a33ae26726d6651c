import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import PhoneNumbers

// Fingerprints of starts and checks. They are keyed: a plain hash would reveal a number or a code to a quick search.
// The former ones are made only if the present one differs: the first delivery of a message needs none of them.
extension VerificationCodes {
  // MARK: Starts

  /// The fingerprint to record.
  func fingerprint(of order: StartOrder) -> [UInt8] {
    keyed([order.plainFingerprint(isFormer: false)], under: current)
  }

  /// Other fingerprints under which the same start may be recorded: under the previous pepper while the configuration
  /// names it, and in the formats of earlier versions.
  func formerFingerprints(of order: StartOrder) -> [[UInt8]] {
    let plain = [order.plainFingerprint(isFormer: false), order.plainFingerprint(isFormer: true)]
    // Before version 10 it covered less of a start.
    let earlier = CommandFingerprint.hash(StartVerification.type.text, [order.app.id, order.number.e164])
    return [earlier] + (previous.map { [keyed([plain[1]], under: $0)] } ?? []) + plain
  }

  // MARK: Checks

  /// The fingerprint to record.
  func fingerprint(of order: CheckOrder) -> [UInt8] { fingerprint(of: order, under: current) }

  /// Other fingerprints under which the same check may be recorded.
  func formerFingerprints(of order: CheckOrder) -> [[UInt8]] {
    // Before version 10 it covered less of a check, and no code.
    let earlier = CommandFingerprint.hash(CheckVerification.type.text, [order.verificationID])
    return [earlier] + (previous.map { [fingerprint(of: order, under: $0)] } ?? [])
  }

  private func fingerprint(of order: CheckOrder, under pepper: Pepper) -> [UInt8] {
    let plain = CommandFingerprint.hash(
      CheckVerification.type.text,
      [order.verificationID, order.app ?? "", order.purpose?.rawValue ?? "", order.subject ?? ""])
    return keyed([plain, Array(order.verificationID.utf8), Array(order.code.utf8)], under: pepper)
  }

  private func keyed(_ parts: [[UInt8]], under pepper: Pepper) -> [UInt8] {
    pepper.key.authenticate(Self.framed("countersign message", parts))
  }
}

extension StartOrder {
  /// The fingerprint without a key.
  /// - Parameter isFormer: whether keyed hashes in it are those under the previous pepper.
  fileprivate func plainFingerprint(isFormer: Bool) -> [UInt8] {
    var action = ""
    if case .captcha(let captcha)? = proof?.evidence { action = captcha.action ?? "" }
    return CommandFingerprint.hash(
      StartVerification.type.text,
      [
        app.id, number.e164, key.purpose.rawValue, key.subject ?? "",
        Base64URL.encode(claim.text(isFormer: isFormer)), action,
      ])
  }
}
