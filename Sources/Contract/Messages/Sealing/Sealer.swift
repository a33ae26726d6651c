public import CountersignCryptography
public import CountersignTelemetry

/// Seals secrets into messages and opens them.
///
/// A sealed secret is a JWE (`dir`, `A256GCM`) whose protected header names the message type, the message ID and the
/// recipient, and may bind further fields of the message. A user with access to a queue can neither read the secret nor
/// redirect it to another recipient.
public struct Sealer: Sendable {
  private let keys: KeyRing

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

  /// Secret of a field, opened if it is sealed.
  public func open(_ field: SecretField, for context: SealContext) throws(SealError) -> Secret {
    try field.open(with: keys, for: context)
  }
}

extension SecretField {
  /// Whether the secret is sealed.
  public var isSealed: Bool { JWE.isCompactJWE(text) }

  /// Secret of the field, opened if it is sealed. A secret in the clear is refused if the keys require sealing.
  /// - Parameters:
  ///   - keys: keys that may open it.
  ///   - context: message that carried it.
  public func open(with keys: KeyRing, for context: SealContext) throws(SealError) -> Secret {
    guard isSealed else {
      guard !keys.requiresSealing else { throw .notSealed }
      return Secret(text)
    }
    return try openSealed(for: context) { (text) throws(JOSEError) in try JWE.open(text, with: keys) }
  }

  func openSealed(
    for context: SealContext, _ open: (String) throws(JOSEError) -> (header: [String: String], plaintext: [UInt8])
  ) throws(SealError) -> Secret {
    guard isSealed else { throw .notSealed }
    let opened: (header: [String: String], plaintext: [UInt8])
    do {
      opened = try open(text)
    } catch {
      if error.code == .unknownKey { throw .unknownKey(error.keyID ?? "") }
      throw .broken
    }
    if let name = context.mismatch(in: opened.header) { throw .moved(name) }
    guard let secret = String(validating: opened.plaintext, as: UTF8.self) else { throw .broken }
    return Secret(secret)
  }
}
