import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// Coordinator and accounts as the gateway sees them. They take commands strictly: each has the properties of the
/// contract and no field that the contract lacks, and its secrets open with the key of `accounts` alone. A command that
/// breaks this fails the test.
final class FakeServices: CommandTransport {
  struct Asked: Sendable {
    let messageID: String
    let type: MessageType
    let replyType: MessageType
    fileprivate let key: PrivateSealingKey
    fileprivate let replyKey: String?

    func open(_ field: SecretField) throws -> String {
      let context = AccountCommandFields.context(of: type, messageID: messageID, replyKey: replyKey)
      return try field.open(with: key, for: context).reveal()
    }

    func open(ifAny field: SecretField?) throws -> String? { try field.map { try open($0) } }

    func seal(_ text: String, to replyKey: String) throws -> SecretField {
      let context = SealContext(
        messageType: replyType, messageID: messageID, recipient: AccountCommandFields.replyRecipient)
      return try PublicSealer(key: PublicSealingKey(jwk: Array(replyKey.utf8))).seal(Secret(text), for: context)
    }

    func tokens(to replyKey: String) throws -> SessionTokens {
      SessionTokens(
        idToken: try seal("id-token", to: replyKey), refreshToken: try seal("refresh-token", to: replyKey),
        expiresIn: 3600)
    }

    func signedIn(_ localID: String? = "local-1", to replyKey: String) throws -> AccountSignedIn {
      var reply = AccountSignedIn()
      (reply.localID, reply.tokens) = (localID, try tokens(to: replyKey))
      return reply
    }
  }

  private typealias Handler = @Sendable (Message) throws -> Message

  private struct State {
    var handlers: [String: Handler] = [:]
    var bodies: [JSONValue] = []
    var messages: [Message] = []
    var isReady = true
  }

  let key: PrivateSealingKey
  private let state = Mutex(State())

  init() throws {
    key = try PrivateSealingKey.generate(id: "accounts-1")
  }

  var publicKeys: PublicSealingKeys {
    get throws { try PublicSealingKeys(jwkSet: Array(PrivateSealingKeys([key]).publicSet.utf8)) }
  }

  var bodies: [JSONValue] { state.withLock { $0.bodies } }
  var messages: [Message] { state.withLock { $0.messages } }
  /// All that was sent.
  var sent: String { messages.map { String(decoding: $0.body, as: UTF8.self) }.joined() }

  var isReady: Bool {
    get { state.withLock { $0.isReady } }
    set { state.withLock { $0.isReady = newValue } }
  }

  func on<C: Command>(_ type: C.Type, _ answer: @escaping @Sendable (C, Asked) throws -> C.Reply) {
    handle(type) { [key] command, message in
      let asked = Asked(
        messageID: message.messageID ?? "", type: C.type, replyType: C.Reply.type, key: key,
        replyKey: Self.replyKey(of: command))
      return Self.reply(C.Reply.type, try answer(command, asked).json(), to: message)
    }
  }

  /// Some commands have a key only at times.
  private static func replyKey(of command: some Command) -> String? {
    switch command {
    case let command as any SecretReplyCommand: command.replyKey
    case let command as UpdateAccount: command.replyKey
    case let command as ListAccounts: command.replyKey
    default: nil
    }
  }

  func refuse<C: Command>(_ type: C.Type, _ error: APIError) {
    handle(type) { _, message in Self.reply(ErrorReply.type, try ErrorReply(error).json(), to: message) }
  }

  private func handle<C: Command>(
    _ type: C.Type, _ answer: @escaping @Sendable (C, Message) throws -> Message
  ) {
    state.withLock {
      $0.handlers[C.routingKey] = { message in
        let command = try C(json: message.body)
        guard try JSONValue(parsing: message.body) == JSONValue(parsing: try command.json()) else {
          throw Breach("unknown fields")
        }
        guard message.type == C.type.text else { throw Breach("type") }
        return try answer(command, message)
      }
    }
  }

  private static func reply(_ type: MessageType, _ body: [UInt8], to message: Message) -> Message {
    Envelope(type: type, messageID: "reply", correlationID: message.correlationID).message(body: body)
  }

  func request(
    _ message: Message, exchange: String, routingKey: String, timeout: Duration
  ) async throws(AMQPError) -> Message {
    let handler = state.withLock { state in
      state.messages.append(message)
      return state.handlers[routingKey]
    }
    guard let handler else { throw AMQPError(.notFound, "no queue takes it") }
    do {
      try check(message, exchange)
      let body = try JSONValue(parsing: message.body)
      state.withLock { $0.bodies.append(body) }
      return try handler(message)
    } catch let error as AMQPError {
      throw error
    } catch {
      Issue.record("\(routingKey): \(error)")
      throw AMQPError(.protocolViolation, "the command breaks the contract")
    }
  }

  private func check(_ message: Message, _ exchange: String) throws {
    guard exchange == Topology.Exchanges.commands else { throw Breach("exchange") }
    guard message.contentType == "application/json", message.userID == "gateway", message.appID == "gateway",
      message.timestamp != nil
    else { throw Breach("properties") }
    guard let id = message.messageID, !id.isEmpty, message.correlationID == id else { throw Breach("message_id") }
    let isNew = state.withLock { state in state.messages.filter { $0.messageID == id }.count == 1 }
    guard isNew else { throw Breach("message_id repeats") }
  }

  private struct Breach: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
      self.description = description
    }
  }
}
