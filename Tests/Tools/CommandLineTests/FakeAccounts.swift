import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Synchronization
import Testing

@testable import CommandLine

/// Accounts as the command line sees it: it refuses what was not sealed to it, for the message that carries it.
final class FakeAccounts: AccountsConnection {
  /// Answers a command, whose sealed fields are opened.
  typealias Answer = @Sendable (_ type: String, _ body: JSONValue) -> Result<JSONValue, CommandLineError>

  private static let keys: PrivateSealingKey? = try? .generate(id: "fake")
  private static let sealedFields = ["user", "selection", "batch", "fields"]

  let key: PublicSealingKey
  /// Commands with their fields in the clear.
  let sent = Mutex<[(type: String, body: JSONValue)]>([])
  private let answer: Answer

  init(_ answer: @escaping Answer) {
    guard let keys = Self.keys else { fatalError("no key") }
    key = keys.publicKey
    self.answer = answer
  }

  func send<C: Command>(_ command: C, id: String, timeout: Duration) async throws(CommandLineError) -> C.Reply {
    do {
      var body = try #require(JSONReader.commandLine.value(of: try command.json()).members)
      for name in Self.sealedFields {
        guard let text = body[name]?.text, let keys = Self.keys else { continue }
        let context = AccountCommandFields.context(of: C.type, messageID: id, replyKey: nil)
        let opened = try SecretField(Secret(text)).open(with: keys, for: context)
        body[name] = try JSONReader.commandLine.value(of: opened.reveal().utf8)
      }
      // Hashes of a reply are sealed for its message.
      if body["replyKey"] != nil { body["id"] = .text(id) }
      let (type, opened) = (C.type.name, JSONValue.object(body))
      sent.withLock { $0.append((type, opened)) }
      return try C.Reply(json: Array(try answer(type, opened).get().json().utf8))
    } catch let error as CommandLineError {
      throw error
    } catch {
      throw CommandLineError(.internalError, "\(error)")
    }
  }
}
