import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// Proof that a request comes from the app, on its way from the gateway, which seals it to accounts, to the
/// coordinator, which judges it.
struct OpenedProof: Sendable {
  /// The coordinator takes no longer ones.
  private static let maxBytes = 16 * 1024

  /// The proof without its secrets.
  private let proof: StartVerification.Proof
  private let secret: Secret?
  private let token: Secret?

  init(
    _ proof: StartVerification.Proof, of envelope: Envelope, replyKey: String, _ reader: CommandReader
  ) throws(APIError) {
    func open(_ field: SecretField?, _ name: String) throws(APIError) -> Secret? {
      guard let field else { return nil }
      let secret = try reader.open(field, name, of: envelope, replyKey: replyKey)
      guard secret.reveal().utf8.count <= Self.maxBytes else {
        throw APIError(.invalidArgument, "\(name) is longer than \(Self.maxBytes) bytes", field: name)
      }
      return secret
    }
    secret = try open(proof.secret, "proof.secret")
    token = try open(proof.recaptchaToken, "proof.recaptchaToken")
    var bare = proof
    (bare.secret, bare.recaptchaToken) = (nil, nil)
    self.proof = bare
  }

  /// The proof as the coordinator opens it: its recipient is the app.
  func sealed(
    for app: String, messageID: String, _ sealer: Sealer
  ) throws(StoreError) -> StartVerification.Proof {
    let context = SealContext(messageType: StartVerification.type, messageID: messageID, recipient: app)
    func seal(_ secret: Secret?) throws(StoreError) -> SecretField? {
      guard let secret else { return nil }
      do throws(SealError) {
        return try sealer.seal(secret, for: context)
      } catch {
        throw StoreError(.content, "the proof of a start \(error)")
      }
    }
    var proof = proof
    proof.secret = try seal(secret)
    proof.recaptchaToken = try seal(token)
    return proof
  }
}
