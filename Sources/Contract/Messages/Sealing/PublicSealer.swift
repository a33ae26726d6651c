public import CountersignCryptography
public import CountersignTelemetry

/// Seals secrets into messages to the owner of a private key: `accounts`, or the requester that sent the public key
/// with its command.
///
/// A sealed secret is a JWE (`ECDH-ES`, `A256GCM`) whose protected header binds the message as ``Sealer`` does. Neither
/// the broker nor the sender itself can open it again.
public struct PublicSealer: Sendable {
  private let key: PublicSealingKey

  public init(key: PublicSealingKey) {
    self.key = key
  }

  /// Seals a secret for one message.
  public func seal(_ secret: Secret, for context: SealContext) throws(SealError) -> SecretField {
    do {
      return SecretField(text: try JWE.seal(Array(secret.reveal().utf8), to: key, header: context.header))
    } catch {
      throw .broken
    }
  }
}

extension SecretField {
  /// Secret of the field. One in the clear is refused.
  /// - Parameters:
  ///   - keys: keys that may open it.
  ///   - context: message that carried it.
  public func open(with keys: PrivateSealingKeys, for context: SealContext) throws(SealError) -> Secret {
    try openSealed(for: context) { (text) throws(JOSEError) in try JWE.open(text, with: keys) }
  }

  /// Secret of the field, sealed to the public part of one key. One in the clear is refused.
  public func open(with key: PrivateSealingKey, for context: SealContext) throws(SealError) -> Secret {
    try openSealed(for: context) { (text) throws(JOSEError) in try JWE.open(text, with: key) }
  }
}
