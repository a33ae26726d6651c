import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects

struct GatewayRules: Sendable {
  let projects: ProjectsSource
  let isDevelopment: Bool
  /// Public keys of `accounts`.
  let sealingKeys: PublicSealingKeys
  /// Key pair of this process, made at its start, to which `accounts` seals what it replies.
  let replyKey: PrivateSealingKey
  /// Seals proofs of apps for the coordinator. `nil` where they travel in the clear.
  let sealer: Sealer?
  /// Address of the simulator, which tells sent codes in development mode: `http://127.0.0.1:8090`.
  let simulatorURL: String?

  init(
    projects: ProjectsSource, isDevelopment: Bool, sealingKeys: PublicSealingKeys, sealer: Sealer? = nil,
    simulatorURL: String? = nil
  ) throws(JOSEError) {
    self.projects = projects
    self.isDevelopment = isDevelopment
    self.sealingKeys = sealingKeys
    self.sealer = sealer
    self.simulatorURL = simulatorURL
    replyKey = try PrivateSealingKey.generate(id: "gateway-\(MessageID.make())")
  }

  var replyKeyText: String { replyKey.publicKey.jwk }

  /// - Parameter replyKey: public key for the reply of a command that has one only at times.
  func seal<C: Command>(
    _ secret: Secret, for command: C.Type, _ messageID: String, replyKey: String?
  ) throws(ProtocolError) -> SecretField {
    guard let key = sealingKeys.sealing else { throw .internalError }
    let context = AccountCommandFields.context(
      of: C.type, messageID: messageID, replyKey: command is any SecretReplyCommand.Type ? replyKeyText : replyKey)
    do {
      return try PublicSealer(key: key).seal(secret, for: context)
    } catch {
      throw .internalError
    }
  }

  func open(_ field: SecretField, of type: MessageType, _ messageID: String) throws(ProtocolError) -> Secret {
    do {
      return try field.open(
        with: replyKey,
        for: SealContext(
          messageType: type, messageID: messageID, recipient: AccountCommandFields.replyRecipient))
    } catch {
      throw .internalError
    }
  }
}
