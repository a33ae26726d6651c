/// Follows a dialogue by what libcurl sends and receives: the stage, and the reply that belongs to it.
struct SMTPDialogue {
  /// A server that sends more is broken.
  private static let maxLines = 128

  private(set) var stage = SMTPStage.connect
  private(set) var reply: SMTPReply?
  /// Extensions that the server offers in its reply to EHLO, in upper case. Kept as long as the connection.
  private(set) var extensions: [String] = []
  private var lines: [String] = []
  private var isEncrypted = false
  private var isOver = false

  mutating func begin() {
    stage = .connect
    reply = nil
    lines = []
    isEncrypted = false
    isOver = false
  }

  mutating func tlsBegins() {
    enter(.tls)
    isEncrypted = true
  }

  /// The server is connected and has to speak first.
  mutating func isConnected() {
    if stage == .connect { enter(.greeting) }
  }

  /// The rest of AUTH is not looked at: it may be a secret.
  mutating func sends(_ command: some StringProtocol) {
    let verb = command.prefix { $0 != " " && !$0.isNewline }.uppercased()
    switch verb {
    case "EHLO", "HELO": enter(.hello)
    case "STARTTLS": enter(.startTLS)
    case "AUTH": enter(.authentication)
    case "NOOP": enter(.check)
    case "MAIL": enter(.sender)
    case "RCPT": enter(.recipient)
    case "DATA": enter(.data)
    // What follows is not about the task.
    case "QUIT": isOver = true
    default: reply = nil
    }
  }

  mutating func sendsContent() {
    if stage != .content { enter(.content) }
  }

  mutating func contentEnds() { enter(.final) }

  /// Without its CRLF.
  mutating func receives(_ line: String) {
    guard !isOver, SMTPReply.code(line) != nil else { return }
    if lines.count < Self.maxLines { lines.append(line) }
    // `250-` goes on.
    guard line.utf8.dropFirst(3).first != UInt8(ascii: "-") else { return }
    reply = SMTPReply(lines: lines)
    lines = []
    if stage == .hello, let reply, reply.code == 250 {
      extensions = reply.text.split(separator: "\n").dropFirst().map { $0.uppercased() }
    }
    if stage == .connect || stage == .tls { stage = .greeting }
  }

  /// Whether the reply to EHLO has just come after which mail begins: behind STARTTLS there is another one.
  func hasGreeted(after security: SMTPConfiguration.Security) -> Bool {
    stage == .hello && reply?.code == 250 && (isEncrypted || security == .none)
  }

  var offersSMTPUTF8: Bool { extensions.contains { $0.split(separator: " ").first == "SMTPUTF8" } }

  private mutating func enter(_ stage: SMTPStage) {
    self.stage = stage
    reply = nil
    lines = []
  }
}

/// Stage of a submission.
public enum SMTPStage: String, Sendable, Hashable, CaseIterable {
  /// Resolving the name, the TCP handshake.
  case connect
  /// The TLS handshake.
  case tls
  /// Waiting for the server's first line.
  case greeting
  /// `EHLO`.
  case hello
  /// `STARTTLS`.
  case startTLS
  /// `AUTH`.
  case authentication
  /// `NOOP`, the check of a connection.
  case check
  /// `MAIL FROM`.
  case sender
  /// `RCPT TO`.
  case recipient
  /// `DATA`.
  case data
  /// The message itself.
  case content
  /// The final dot was sent, or may have been: from here on only the server knows whether it has the message.
  case final
}
