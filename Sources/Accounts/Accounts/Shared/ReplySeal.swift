import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

struct ReplySeal: Sendable {
  /// Bytes of an identity that a reply has room for beside its tokens, sealed.
  private static let maxIdentityBytes = 36 << 10

  private let sealer: PublicSealer
  private let context: SealContext
  let tokens = Once<TokenContent, SessionTokens>()
  private let texts = Once<String, SecretField>()
  private let identities = Once<SignedInIdentity, SecretField>()

  struct TokenContent: Sendable, Hashable {
    let account: AccountRecord
    let session: SessionRecord
    let now: UnixTime
  }

  init(key: String, _ envelope: Envelope, _ type: MessageType) throws(APIError) {
    do throws(JOSEError) {
      sealer = PublicSealer(key: try PublicSealingKey(jwk: Array(key.utf8)))
    } catch {
      throw .invalidReplyKey
    }
    context = SealContext(
      messageType: type, messageID: envelope.messageID, recipient: AccountCommandFields.replyRecipient)
  }

  /// A text that all runs of a command make alike.
  func once(_ secret: Secret) throws(StoreError) -> SecretField {
    try texts.value(of: secret.reveal()) { () throws(StoreError) in try seal(secret) }
  }

  func once(_ identity: SignedInIdentity) throws(StoreError) -> SecretField {
    try identities.value(of: identity) { () throws(StoreError) in
      let text: Secret
      do throws(ContractProblem) {
        text = try identity.text(upTo: Self.maxIdentityBytes)
      } catch {
        throw StoreError(.content, "an identity cannot be written: \(error)")
      }
      return try seal(text)
    }
  }

  func seal(_ secret: Secret) throws(StoreError) -> SecretField {
    do throws(SealError) {
      return try sealer.seal(secret, for: context)
    } catch {
      throw StoreError(.content, "the secret of a reply \(error)")
    }
  }
}

extension SignedInIdentity {
  /// Text to seal, without what makes it too long: the access token goes first, then the profile, then the ID token.
  fileprivate func text(upTo maxBytes: Int) throws(ContractProblem) -> Secret {
    let cuts: [(inout SignedInIdentity) -> Void] = [
      { ($0.oauthAccessToken, $0.oauthExpiresIn) = (nil, nil) }, { $0.rawUserInfo = "{}" }, { $0.oauthIDToken = nil },
    ]
    var identity = self
    for cut in cuts {
      do throws(ContractProblem) {
        let text = try identity.text()
        if text.reveal().utf8.count <= maxBytes { return text }
      } catch {
        if error.code != .bodyTooLarge { throw error }
      }
      cut(&identity)
    }
    return try identity.text()
  }
}
