public import CountersignCryptography
public import CountersignTelemetry

/// Seals secrets into messages and opens them again.
///
/// A sealed secret is a JWE (`dir`, `A256GCM`) whose protected header names the message type, the message ID and the
/// recipient, and may bind further fields of the message. Whoever can read and write a queue can neither read the secret nor have it delivered to somebody else.
public struct Sealer: Sendable {
  private let keys: KeyRing

  /// - Parameter keys: the first key seals, all open.
  public init(keys: KeyRing) {
    self.keys = keys
  }

  /// Seals a secret for one message.
  public func seal(_ secret: Secret, for context: SealContext) throws(SealError) -> SecretField {
    guard let key = keys.sealing else { throw .noSealingKey }
    do {
      return SecretField(
        text: try JWE.seal(Array(secret.reveal().utf8), with: key, header: context.header))
    } catch {
      throw .broken
    }
  }

  /// The secret of a field: opened when it is sealed, as it is when it is not.
  public func open(_ field: SecretField, for context: SealContext) throws(SealError) -> Secret {
    try field.open(with: keys, for: context)
  }
}

extension SecretField {
  /// Whether the secret is sealed.
  public var isSealed: Bool { JWE.isCompactJWE(text) }

  /// The secret: opened when it is sealed, as it is when it is not, unless the keys require it to be.
  /// - Parameters:
  ///   - keys: the keys that may open it.
  ///   - context: the message that it came in.
  public func open(with keys: KeyRing, for context: SealContext) throws(SealError) -> Secret {
    guard isSealed else {
      guard !keys.requiresSealing else { throw .notSealed }
      return Secret(text)
    }
    let opened: (header: [String: String], plaintext: [UInt8])
    do {
      opened = try JWE.open(text, with: keys)
    } catch {
      if error.code == .unknownKey { throw .unknownKey(error.keyID ?? "") }
      throw .broken
    }
    if let name = context.mismatch(in: opened.header) { throw .moved(name) }
    guard let secret = String(validating: opened.plaintext, as: UTF8.self) else { throw .broken }
    return Secret(secret)
  }
}
