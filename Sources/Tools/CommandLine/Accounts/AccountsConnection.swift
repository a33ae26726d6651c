import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// A connection to accounts under the operator's user. What is secret in a command is sealed to the public key of
/// accounts, and what is secret in a reply to a key of the command's own.
protocol AccountsConnection: Sendable {
  var key: PublicSealingKey { get }

  func send<C: Command>(_ command: C, id: String, timeout: Duration) async throws(CommandLineError) -> C.Reply
}

extension AccountsConnection {
  func seal<C: Command>(_ object: some SealedText, for command: C.Type, id: String) throws(CommandLineError)
    -> SecretField
  {
    let text: Secret
    do { text = try object.text() } catch {
      throw CommandLineError(.badInput, "the values are too long for one message: \(error.description)")
    }
    do {
      return try PublicSealer(key: key).seal(
        text, for: AccountCommandFields.context(of: C.type, messageID: id, replyKey: nil))
    } catch {
      throw CommandLineError(.internalError, "the values \(error)")
    }
  }

  /// Makes a command with its secrets, under an ID of its own, and sends it.
  func ask<C: Command>(
    timeout: Duration, _ make: (_ id: String) throws(CommandLineError) -> C
  ) async throws(CommandLineError) -> C.Reply {
    let id = MessageID.make()
    return try await send(try make(id), id: id, timeout: timeout)
  }
}
