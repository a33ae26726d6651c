/// The field `command_status` of a response: what the server says of the request (SMPP 3.4, 5.1.3).
///
/// It is open: servers have codes of their own, from 0x400 on.
public struct CommandStatus: RawRepresentable, Sendable, Hashable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// No error.
  public static let ok = CommandStatus(rawValue: 0x00)
  /// The length of a PDU is not what it can be.
  public static let invalidCommandLength = CommandStatus(rawValue: 0x02)
  /// A command that the receiver does not know.
  public static let invalidCommandID = CommandStatus(rawValue: 0x03)
  /// The session is not bound, or not for this.
  public static let incorrectBindStatus = CommandStatus(rawValue: 0x04)
  /// The account is bound already, as often as it may be.
  public static let alreadyBound = CommandStatus(rawValue: 0x05)
  /// The bind failed; the server does not say why.
  public static let bindFailed = CommandStatus(rawValue: 0x0D)
  /// Wrong password.
  public static let invalidPassword = CommandStatus(rawValue: 0x0E)
  /// Unknown system ID.
  public static let invalidSystemID = CommandStatus(rawValue: 0x0F)
  /// The server's queue is full.
  public static let messageQueueFull = CommandStatus(rawValue: 0x14)
  /// More messages than the account may send in a time.
  public static let throttled = CommandStatus(rawValue: 0x58)
  /// The receiver cannot take it now.
  public static let temporaryReceiverError = CommandStatus(rawValue: 0x64)
  /// The receiver never will take it.
  public static let permanentReceiverError = CommandStatus(rawValue: 0x65)

  /// Whether the server says that it is too much for the moment, for this session as a whole.
  var asksToSlowDown: Bool { self == .throttled || self == .messageQueueFull }
}

extension CommandStatus: CustomStringConvertible {
  /// As tables and documents write it: `0x00000058`.
  public var description: String {
    let digits = String(rawValue, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}
