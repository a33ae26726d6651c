import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

struct ReplySeal: Sendable {
  private let sealer: PublicSealer
  private let context: SealContext
  let tokens = Once<TokenContent, SessionTokens>()
  let proof = Once<RecordID, SecretField>()

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

  func seal(_ secret: Secret) throws(StoreError) -> SecretField {
    do throws(SealError) {
      return try sealer.seal(secret, for: context)
    } catch {
      throw StoreError(.content, "the secret of a reply \(error)")
    }
  }
}
