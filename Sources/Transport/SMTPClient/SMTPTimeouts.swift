/// Time limits of a server at each stage; by default the minimum that RFC 5321, 4.5.3.2, asks clients to grant.
public struct SMTPTimeouts: Sendable, Hashable {
  /// The TCP handshake, and that of TLS.
  public var connect: Duration = .seconds(30)
  /// The greeting, and every command but DATA.
  public var command: Duration = .seconds(300)
  /// DATA.
  public var data: Duration = .seconds(120)
  /// The message.
  public var content: Duration = .seconds(180)
  /// After the final dot.
  public var final: Duration = .seconds(600)

  /// The minimum of RFC 5321.
  public init() {}

  /// Time limit of a stage.
  func limit(_ stage: SMTPStage) -> Duration {
    switch stage {
    case .connect, .tls: connect
    case .greeting, .hello, .startTLS, .authentication, .check, .sender, .recipient: command
    case .data: data
    case .content: content
    case .final: final
    }
  }
}
