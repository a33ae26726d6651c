import CommandEngine
import CountersignCryptography
import CountersignEncoding

/// Shared secret of a TOTP factor, sealed under the token keys.
struct SealedSharedSecret: Sendable, Hashable {
  let sealed: String
  /// Name of the token key that sealed it.
  let sealedUnder: String
}

extension SealedSharedSecret: FieldCoded {
  init(_ fields: inout FieldCoder, _ secret: Self?) throws(UnreadableFields) {
    sealed = try fields.required(1, secret?.sealed)
    sealedUnder = try fields.required(2, secret?.sealedUnder)
  }
}

/// Seals the shared secrets of TOTP factors, each to its account and enrollment: copied to another one it does not open.
struct SharedSecretSealer: Sendable {
  private static let form = "countersign shared secret"

  private let seal: TokenKeySeal

  init(_ ring: KeyRing) {
    seal = TokenKeySeal(ring)
  }

  /// `nil` without a key that seals.
  func seal(_ secret: [UInt8], of account: RecordID, _ enrollmentID: String) -> SealedSharedSecret? {
    seal.seal(secret, Self.header(account, enrollmentID)).map {
      SealedSharedSecret(sealed: $0.text, sealedUnder: $0.key)
    }
  }

  /// `nil` for a factor without a secret, and for one whose secret is sealed under a key that is gone.
  func open(_ factor: SecondFactor, of account: RecordID) -> TOTP? {
    factor.secret.flatMap { seal.open($0.sealed, Self.header(account, factor.enrollmentID)) }.map(TOTP.init(secret:))
  }

  /// The secret, sealed under the key that seals. `nil` for one that cannot be opened.
  func sealAgain(_ factor: SecondFactor, of account: RecordID) -> SealedSharedSecret? {
    open(factor, of: account).flatMap { seal($0.secret, of: account, factor.enrollmentID) }
  }

  private static func header(_ account: RecordID, _ enrollmentID: String) -> [String: String] {
    ["form": form, "account": account.text, "enrollment": enrollmentID]
  }
}
