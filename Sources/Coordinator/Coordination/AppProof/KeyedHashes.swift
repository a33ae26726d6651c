import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Makes and compares the secrets of pushes, and hashes the tokens that must not be stored. All hashes are keyed with
/// the pepper, so the database alone reveals nothing.
struct KeyedHashes: Sendable {
  static let digestLength = 32
  private static let secretBytes = 32

  let current: Pepper
  let previous: Pepper?
  private let decoy: SecretAtRest
  let subjects: LimitSubjects

  init(current: Pepper, previous: Pepper? = nil) {
    self.current = current
    self.previous = previous
    subjects = LimitSubjects(current: current, previous: previous)
    decoy = SecretAtRest(pepperID: current.id, digest: [UInt8](repeating: 0, count: Self.digestLength))
  }

  // MARK: Secrets

  /// 256 random bits, base64url.
  static func makeSecret() -> Secret {
    Secret(Base64URL.encode(SecureRandom.bytes(secretBytes)))
  }

  func keep(_ secret: Secret, receipt: String, app: String, tokenHash: [UInt8]) -> SecretAtRest {
    SecretAtRest(
      pepperID: current.id, digest: Self.digest(current, secret, receipt: receipt, app: app, tokenHash: tokenHash))
  }

  /// Takes the same time for a right and a wrong secret.
  func matches(_ secret: Secret, _ proof: AppProof) -> Bool {
    // With an unknown pepper the digest cannot match; the work is the same.
    let pepper = proof.secret.pepperID == previous?.id ? previous ?? current : current
    let digest = Self.digest(pepper, secret, receipt: proof.receipt, app: proof.app, tokenHash: proof.tokenHash)
    return constantTimeEquals(digest, proof.secret.digest)
  }

  /// Does the work of ``matches(_:_:)`` when there is nothing to compare with, so that timing does not reveal which
  /// receipts exist.
  func matchNothing(_ secret: Secret) {
    let digest = Self.digest(current, secret, receipt: "", app: "", tokenHash: decoy.digest)
    _ = constantTimeEquals(digest, decoy.digest)
  }

  private static func digest(
    _ pepper: Pepper, _ secret: Secret, receipt: String, app: String, tokenHash: [UInt8]
  ) -> [UInt8] {
    let parts = [Array(receipt.utf8), Array(app.utf8), tokenHash, Array(secret.reveal().utf8)]
    return pepper.key.authenticate(VerificationCodes.framed("countersign app secret", parts))
  }

  // MARK: Tokens

  func hash(deviceToken token: String, app: String) -> TokenHash {
    hash("countersign device token", app, token)
  }

  func hash(captchaToken token: Secret, app: String) -> TokenHash {
    hash("countersign captcha token", app, token.reveal())
  }

  /// The same token under another subject is another request.
  func hash(appleToken token: Secret, app: String, subject: String?) -> TokenHash {
    hash("countersign apple token", app, token.reveal(), subject)
  }

  private func hash(_ label: StaticString, _ app: String, _ token: String, _ subject: String? = nil) -> TokenHash {
    let bytes = VerificationCodes.framed(label, [app, token, subject].compactMap { $0.map { Array($0.utf8) } })
    return TokenHash(current: current.key.authenticate(bytes), earlier: previous?.key.authenticate(bytes))
  }
}

/// A secret at rest, for comparison only: a hash under the pepper, and the ID of that pepper.
struct SecretAtRest: Sendable, Hashable {
  var pepperID: [UInt8]
  /// HMAC-SHA-256 of the secret and of everything it is bound to.
  var digest: [UInt8]
}

extension SecretAtRest {
  var blob: [UInt8] { pepperID + digest }

  init?(blob: [UInt8]) {
    guard blob.count == Pepper.idLength + KeyedHashes.digestLength else { return nil }
    self.init(pepperID: Array(blob[..<Pepper.idLength]), digest: Array(blob[Pepper.idLength...]))
  }
}
