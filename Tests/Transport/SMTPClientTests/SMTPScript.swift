import Glibc
import SMTPClient
import Synchronization
import TestSupport

/// A mail server that follows the rules but for what its script says.
final class SMTPScript: Sendable {
  enum Act: Sendable {
    case reply(String)
    /// Ends the connection without a word.
    case close
    /// Says nothing, until the client goes.
    case hang
    /// Says this and ends the connection.
    case farewell(String)
  }

  struct Journal {
    var commands: [String] = []
    /// Every message that was ended by a dot, as it came over the wire, without the dot.
    var messages: [String] = []
    var connections = 0
  }

  private let journalBox = Mutex(Journal())
  private let extensions: [String]
  private let script: @Sendable (String, Int) -> Act?
  private let server = Mutex<RawServer?>(nil)

  var journal: Journal { journalBox.withLock { $0 } }

  init(extensions: [String] = ["8BITMIME"], _ script: @escaping @Sendable (String, Int) -> Act? = { _, _ in nil }) {
    self.extensions = extensions
    self.script = script
  }

  func run(
    security: SMTPConfiguration.Security = .none, timeouts: SMTPTimeouts = SMTPTimeouts(), username: String? = nil,
    _ body: (SMTPClient) async throws -> Void
  ) async throws {
    let server = RawServer { [self] _, peer, _ in serve(peer) }
    self.server.withLock { $0 = server }
    defer { server.stop() }
    var configuration = SMTPConfiguration(
      host: "127.0.0.1", port: server.port, security: security, clientName: "client.example.com",
      credentials: username.map { SMTPConfiguration.Credentials(username: $0, password: "secret") },
      pool: SMTPConfiguration.Pool(maxConnections: 2))
    configuration.timeouts = timeouts
    let client = try SMTPClient(configuration)
    defer { client.shutdown() }
    try await body(client)
  }

  private func serve(_ peer: RawServer.Peer) {
    journalBox.withLock { $0.connections += 1 }
    guard act("GREETING", "220 server.example.com ESMTP", peer) != nil else { return }
    while let line = Self.readLine(peer) {
      let verb = line.prefix { $0 != " " }.uppercased()
      journalBox.withLock { $0.commands.append(line) }
      guard let reply = act(verb, usual(verb), peer) else { return }
      if verb == "QUIT" { return }
      if verb == "DATA", reply.hasPrefix("354"), !readMessage(peer) { return }
    }
  }

  private func usual(_ verb: String) -> String {
    switch verb {
    case "EHLO":
      (["250-server.example.com"] + extensions.dropLast().map { "250-\($0)" } + ["250 \(extensions.last ?? "HELP")"])
        .joined(separator: "\r\n")
    case "DATA": "354 go ahead"
    case "QUIT": "221 2.0.0 bye"
    case "AUTH": "235 2.7.0 welcome"
    default: "250 2.1.0 ok"
    }
  }

  private func act(_ verb: String, _ usual: String, _ peer: RawServer.Peer) -> String? {
    let count = journalBox.withLock { journal in
      verb == "GREETING"
        ? journal.connections
        : journal.commands.filter { $0.uppercased().hasPrefix(verb) }.count
          + (verb == "DOT" ? journal.messages.count : 0)
    }
    switch script(verb, count) {
    case nil: return say(usual, to: peer)
    case .reply(let text): return say(text, to: peer)
    case .farewell(let text): peer.write(text + "\r\n")
    case .close: break
    case .hang: peer.hang()
    }
    return nil
  }

  private func say(_ reply: String, to peer: RawServer.Peer) -> String {
    peer.write(reply + "\r\n")
    return reply
  }

  private func readMessage(_ peer: RawServer.Peer) -> Bool {
    var message = ""
    while let line = Self.readLine(peer) {
      if message.isEmpty, let act = script("CONTENT", 1), case .close = act { return false }
      if line == "." {
        journalBox.withLock { $0.messages.append(message) }
        return act("DOT", "250 2.0.0 Ok: queued as 4Tk1", peer) != nil
      }
      message += line + "\r\n"
    }
    return false
  }

  private static func readLine(_ peer: RawServer.Peer) -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while recv(peer.descriptor, &byte, 1, 0) == 1 {
      if byte == 10 {
        if bytes.last == 13 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
      }
      bytes.append(byte)
    }
    return nil
  }
}
