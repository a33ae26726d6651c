import SMTPClient
import TestSupport
import Testing

@Suite("SMTP client", .serialized, .timeLimit(.minutes(10)))
struct SMTPClientTests {
  private static let content = Array("Subject: x\r\n\r\nHello\r\n.dot\r\n..two\r\n".utf8)

  private func message(to recipient: String = "ada@example.com", _ content: [UInt8] = content) -> SMTPMessage {
    SMTPMessage(sender: "hello@example.com", recipient: recipient, content: content)
  }

  private func failure(_ client: SMTPClient, _ message: SMTPMessage, timeout: Duration = .patience) async
    -> SMTPFailure?
  {
    do {
      _ = try await client.send(message, timeout: timeout)
      return nil
    } catch {
      return error
    }
  }

  @Test func `A message is taken`() async throws {
    let server = SMTPScript()
    try await server.run { client in
      let reply = try await client.send(message(), timeout: .patience)
      #expect(reply.codes == "250 2.0.0")
      #expect(reply.text == "Ok: queued as 4Tk1")
    }
    let journal = server.journal
    #expect(journal.commands.first == "EHLO client.example.com")
    #expect(journal.commands.contains { $0.hasPrefix("MAIL FROM:<hello@example.com>") })
    #expect(journal.commands.contains("RCPT TO:<ada@example.com>"))
    // Dots at line starts are doubled on the wire, and what follows is the dot that ends the message.
    #expect(journal.messages == ["Subject: x\r\n\r\nHello\r\n..dot\r\n...two\r\n"])
  }

  /// Messages that end where a piece of libcurl's ends, with dots that are doubled on the way.
  @Test(arguments: [0, 1, 2, 3, 7], [16_384, 16_383, 16_385, 32_768])
  func `No size truncates a message`(dots: Int, size: Int) async throws {
    let head = "Subject: x\r\n\r\n" + String(repeating: ".\r\n", count: dots)
    let text = head + String(repeating: "x", count: size - head.utf8.count - 2) + "\r\n"
    let server = SMTPScript()
    try await server.run { client in _ = try await client.send(message(Array(text.utf8)), timeout: .patience) }
    #expect(server.journal.messages.first?.utf8.count == size + dots)
  }

  @Test func `A connection carries one message after another`() async throws {
    let server = SMTPScript()
    try await server.run { client in
      for _ in 0..<5 { _ = try await client.send(message(), timeout: .patience) }
    }
    #expect(server.journal.connections == 1)
    #expect(server.journal.messages.count == 5)
  }

  @Test func `A large message arrives whole`() async throws {
    let line = String(repeating: "x", count: 70) + "\r\n"
    let large = Array(("Subject: x\r\n\r\n" + String(repeating: line, count: 20_000)).utf8)
    let server = SMTPScript()
    try await server.run { client in _ = try await client.send(message(large), timeout: .patience) }
    #expect(server.journal.messages.first?.utf8.count == large.count)
  }

  /// A refusal at each stage: the reply, and where it was said.
  @Test(
    arguments: [
      ("GREETING", "554 5.3.2 go away", SMTPStage.greeting), ("EHLO", "550 5.7.1 no", .hello),
      ("MAIL", "451 4.3.0 later", .sender), ("MAIL", "550 5.7.1 no", .sender), ("RCPT", "550 5.1.1 nobody", .recipient),
      ("RCPT", "452 4.2.2 full", .recipient), ("DATA", "451 4.3.0 later", .data), ("DOT", "451 4.3.0 later", .final),
      ("DOT", "554-5.7.1 first line\r\n554 5.7.1 second line", .final),
    ])
  func `Refusals name their stage`(verb: String, reply: String, stage: SMTPStage) async throws {
    let server = SMTPScript { asked, _ in asked == verb || verb == "EHLO" && asked == "HELO" ? .reply(reply) : nil }
    try await server.run { client in
      let failure = await failure(client, message())
      #expect(failure?.kind == .refused)
      #expect(failure?.stage == stage)
      #expect(failure?.reply?.codes == String(reply.prefix(9)).replacing("-", with: " "))
      #expect(failure?.messageMayBeTaken == false)
    }
  }

  @Test func `A reply of several lines is read whole`() async throws {
    let server = SMTPScript { verb, _ in verb == "RCPT" ? .reply("550-5.1.1 first\r\n550 5.1.1 second") : nil }
    try await server.run { client in
      #expect(await failure(client, message())?.reply?.text == "first\nsecond")
    }
  }

  /// A connection that ends at each stage: only after the final dot may the server have the message.
  @Test(
    arguments: [
      ("GREETING", SMTPStage.greeting, false), ("EHLO", .hello, false), ("MAIL", .sender, false),
      ("RCPT", .recipient, false),
      ("DATA", .data, false), ("DOT", .final, true),
    ])
  func `Lost connections`(verb: String, stage: SMTPStage, mayBeTaken: Bool) async throws {
    let server = SMTPScript { asked, _ in asked == verb ? .close : nil }
    try await server.run { client in
      let failure = await failure(client, message())
      #expect(failure?.kind == .lost)
      #expect(failure?.stage == stage)
      #expect(failure?.messageMayBeTaken == mayBeTaken)
    }
    #expect(server.journal.connections == 1)
  }

  @Test func `A connection that ends amid a long message cannot have taken it`() async throws {
    let long = Array("Subject: x\r\n\r\n".utf8) + [UInt8](repeating: 120, count: 40_000_000)
    let server = SMTPScript { asked, _ in asked == "CONTENT" ? .close : nil }
    try await server.run { client in
      let failure = await failure(client, message(long))
      #expect(failure?.stage == .content)
      #expect(failure?.messageMayBeTaken == false)
    }
  }

  @Test func `Silence ends after the time of the stage`() async throws {
    var timeouts = SMTPTimeouts()
    timeouts.command = .milliseconds(300)
    timeouts.final = .milliseconds(300)
    for (verb, stage) in [("RCPT", SMTPStage.recipient), ("DOT", .final)] {
      let server = SMTPScript { asked, _ in asked == verb ? .hang : nil }
      try await server.run(timeouts: timeouts) { client in
        let failure = await failure(client, message())
        #expect(failure?.kind == .timedOut)
        #expect(failure?.stage == stage)
        #expect(failure?.messageMayBeTaken == (stage == .final))
      }
    }
  }

  @Test func `The whole time is bounded`() async throws {
    let server = SMTPScript { asked, _ in asked == "MAIL" ? .hang : nil }
    try await server.run { client in
      #expect(await failure(client, message(), timeout: .milliseconds(400))?.kind == .timedOut)
    }
  }

  @Test func `The wait for a connection is part of the time`() async throws {
    let server = SMTPScript { asked, _ in asked == "MAIL" ? .hang : nil }
    try await server.run { client in
      await withTaskGroup(of: Void.self) { group in
        // Both connections are taken for longer than the third may wait.
        for _ in 0..<2 {
          group.addTask {
            #expect(await failure(client, message(), timeout: .seconds(4))?.stage == .sender)
          }
        }
        try? await eventually { server.journal.commands.count { $0.hasPrefix("MAIL") } == 2 }
        let late = await failure(client, message(), timeout: .milliseconds(300))
        #expect(late?.kind == .timedOut && late?.stage == .connect)
        await group.waitForAll()
      }
      #expect(server.journal.commands.count { $0.hasPrefix("MAIL") } == 2, "a message was begun after its time")
    }
  }

  @Test func `Cancellation ends it`() async throws {
    let server = SMTPScript { asked, _ in asked == "MAIL" ? .hang : nil }
    try await server.run { client in
      let task = Task { await failure(client, message()) }
      try await eventually { server.journal.commands.count >= 2 }
      task.cancel()
      #expect(await task.value?.kind == .canceled)
    }
  }

  /// An idle connection that the server has closed, or closes with 421 when it is used again, is no news about the message.
  @Test(
    arguments: [SMTPScript.Act.close, .farewell("421 4.4.2 idle for too long")])
  func `A connection that was closed meanwhile is replaced`(act: SMTPScript.Act) async throws {
    let server = SMTPScript { verb, count in verb == "MAIL" && count == 2 ? act : nil }
    try await server.run { client in
      _ = try await client.send(message(), timeout: .patience)
      _ = try await client.send(message(), timeout: .patience)
    }
    #expect(server.journal.connections == 2)
    #expect(server.journal.messages.count == 2)
  }

  @Test func `Nothing is sent twice after the dot`() async throws {
    let server = SMTPScript { verb, count in verb == "DOT" && count == 2 ? .close : nil }
    try await server.run { client in
      _ = try await client.send(message(), timeout: .patience)
      #expect(await failure(client, message())?.messageMayBeTaken == true)
    }
    #expect(server.journal.messages.count == 2)
    #expect(server.journal.connections == 1)
  }

  @Test func `Without STARTTLS nothing is said`() async throws {
    let server = SMTPScript()
    try await server.run(security: .starttls) { client in
      #expect(await failure(client, message())?.kind == .noTLS)
    }
    #expect(!server.journal.commands.contains { $0.hasPrefix("MAIL") })
  }

  @Test func `An unknown authority is refused`() async throws {
    try await Nginx.run { nginx in
      let port = try #require(UInt16(nginx.http1URL.split { ":/".contains($0) }.last ?? ""))
      let client = try SMTPClient(SMTPConfiguration(host: "localhost", port: port, security: .tls))
      defer { client.shutdown() }
      let failure = await failure(client, message())
      #expect(failure?.kind == .untrusted)
      #expect(failure?.messageMayBeTaken == false)
    }
  }

  @Test func `A closed port fails before anything is sent`() async throws {
    let client = try SMTPClient(SMTPConfiguration(host: "127.0.0.1", port: refusingPort, security: .none))
    defer { client.shutdown() }
    #expect(await failure(client, message())?.kind == .connect)
  }

  @Test func `Credentials that are refused`() async throws {
    let server = SMTPScript(extensions: ["AUTH PLAIN"]) { verb, _ in verb == "AUTH" ? .reply("535 5.7.8 no") : nil }
    try await server.run(username: "mailer") { client in
      let failure = await failure(client, message())
      #expect(failure?.stage == .authentication)
      #expect(failure?.reply?.code == 535)
      #expect(failure.map { "\($0)".contains("secret") } == false)
    }
  }

  @Test func `Authentication that is not offered`() async throws {
    let server = SMTPScript(extensions: ["AUTH X-UNKNOWN"])
    try await server.run(username: "mailer") { client in
      #expect(await failure(client, message())?.kind == .noAuthentication)
    }
  }

  @Test func `International addresses need SMTPUTF8`() async throws {
    let old = SMTPScript(extensions: ["8BITMIME"])
    try await old.run { client in
      #expect(await failure(client, message(to: "ünï@example.com"))?.kind == .noSMTPUTF8)
      // Others are not kept from being sent.
      _ = try await client.send(message(), timeout: .patience)
    }
    #expect(old.journal.commands.filter { $0.hasPrefix("MAIL") }.count == 1)
    let new = SMTPScript(extensions: ["8BITMIME", "SMTPUTF8"])
    try await new.run { client in _ = try await client.send(message(to: "ünï@example.com"), timeout: .patience) }
    #expect(new.journal.commands.contains { $0.hasPrefix("MAIL") && $0.hasSuffix("SMTPUTF8") })
  }

  @Test(
    arguments: ["a@example.com>\r\nRCPT TO:<b@example.com", "a b@example.com", "a@example.com\n", "<a@example.com"])
  func `Addresses cannot break commands`(address: String) async throws {
    let server = SMTPScript()
    try await server.run { client in #expect(await failure(client, message(to: address)) != nil) }
    #expect(server.journal.connections == 0)
  }

  @Test func `The check sends nothing`() async throws {
    let server = SMTPScript()
    try await server.run { client in
      try await client.check(timeout: .patience)
      _ = try await client.send(message(), timeout: .patience)
    }
    #expect(server.journal.commands.contains("NOOP"))
    #expect(server.journal.messages.count == 1)
    let closed = SMTPScript { verb, _ in verb == "GREETING" ? .reply("554 no") : nil }
    try await closed.run { client in
      await #expect(throws: SMTPFailure.self) { try await client.check(timeout: .patience) }
    }
  }

  @Test func `More messages than connections wait`() async throws {
    let server = SMTPScript()
    try await server.run { client in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<20 { group.addTask { _ = try await client.send(message(), timeout: .patience) } }
        try await group.waitForAll()
      }
    }
    #expect(server.journal.messages.count == 20)
    #expect(server.journal.connections <= 2)
  }
}
