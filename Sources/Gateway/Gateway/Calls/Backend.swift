import CountersignMessages
import CountersignTelemetry

struct Backend: Sendable {
  let rules: GatewayRules
  let broker: Broker
  let misconfigurations: MisconfigurationLog

  var replyKey: String { rules.replyKeyText }

  func ask<C: Command>(_ command: C) async throws(ProtocolError) -> C.Reply {
    try await exchange(C.self).ask(command)
  }

  /// - Parameter replyKey: public key for the reply, which binds the seals of a command that has one only at times.
  func exchange<C: Command>(_ type: C.Type, replyKey: String? = nil) -> CommandExchange<C> {
    CommandExchange(backend: self, replyKey: replyKey)
  }
}

/// One command and its reply: seals the secrets of the one, opens those of the other. Each request of a client has an
/// exchange of its own, so no message ID ever repeats.
struct CommandExchange<C: Command>: Sendable {
  fileprivate let backend: Backend
  fileprivate let replyKey: String?
  private let messageID = MessageID.make()

  /// Text that no proof has. Stands for one that only looks sealed.
  private static var noProof: Secret { Secret("-") }

  /// A secret for `accounts`.
  func seal(_ secret: String) throws(ProtocolError) -> SecretField {
    try backend.rules.seal(Secret(secret), for: C.self, messageID, replyKey: replyKey)
  }

  /// A JSON object for `accounts`.
  func seal(_ object: some SealedText) throws(ProtocolError) -> SecretField {
    let text: Secret
    do { text = try object.text() } catch { throw .bodyTooLarge }
    return try backend.rules.seal(text, for: C.self, messageID, replyKey: replyKey)
  }

  func seal(ifAny secret: String?) throws(ProtocolError) -> SecretField? {
    guard let secret else { return nil }
    return try seal(secret)
  }

  /// A secret for the coordinator, which travels in the clear where the gateway has no key ring.
  func seal(_ secret: Secret, forApp app: String) throws(ProtocolError) -> SecretField {
    guard let sealer = backend.rules.sealer else {
      // The coordinator would take the client's text for sealed, fail to open it, and call that a wrong configuration.
      let field = SecretField(secret)
      return field.isSealed ? SecretField(Self.noProof) : field
    }
    do {
      return try sealer.seal(secret, for: SealContext(messageType: C.type, messageID: messageID, recipient: app))
    } catch {
      throw .internalError
    }
  }

  func ask(_ command: C, timeout: Duration = Broker.usualTimeout) async throws(ProtocolError) -> C.Reply {
    switch try await attempt(command, timeout: timeout) {
    case .success(let reply): return reply
    case .failure(let error): throw refusal(error)
    }
  }

  func attempt(_ command: C, timeout: Duration) async throws(ProtocolError) -> Result<C.Reply, APIError> {
    try await backend.broker.ask(command, messageID: messageID, timeout: timeout)
  }

  /// A service's refusal in the protocol's words. One that a wrong configuration causes is logged and counted, too, and
  /// told to developers.
  func refusal(_ error: APIError) -> ProtocolError {
    guard let problem = Misconfiguration(error) else { return ProtocolError(error) }
    backend.misconfigurations.note(problem, in: C.routingKey, error)
    return backend.rules.isDevelopment ? ProtocolError(error).explained(by: problem) : ProtocolError(error)
  }

  func open(_ tokens: SessionTokens) throws(ProtocolError) -> OpenTokens {
    OpenTokens(
      idToken: try open(tokens.idToken), refreshToken: try open(tokens.refreshToken), expiresIn: tokens.expiresIn)
  }

  func open<Text: SealedText>(_ field: SecretField, as type: Text.Type) throws(ProtocolError) -> Text {
    let text = try open(field)
    do { return try Text(text: text) } catch { throw .internalError }
  }

  func open(_ field: SecretField) throws(ProtocolError) -> Secret {
    try backend.rules.open(field, of: C.Reply.type, messageID)
  }
}

struct OpenTokens: Sendable {
  let idToken: Secret
  let refreshToken: Secret
  /// Seconds.
  let expiresIn: Int
}

extension CallAnswer {
  mutating func put(_ tokens: OpenTokens) {
    put("idToken", tokens.idToken.reveal())
    put("refreshToken", tokens.refreshToken.reveal())
    put("expiresIn", asText: tokens.expiresIn)
  }
}
