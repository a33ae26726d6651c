import CountersignEncoding

/// The field `command_status` of a response: the server's verdict on the request (SMPP 3.4, 5.1.3).
///
/// It is open: servers have codes of their own, from 0x400 on.
public struct CommandStatus: RawRepresentable, Sendable, Hashable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// No error.
  public static let ok = CommandStatus(rawValue: 0x00)
  /// The length of a PDU is invalid.
  public static let invalidCommandLength = CommandStatus(rawValue: 0x02)
  /// A command that the receiver does not know.
  public static let invalidCommandID = CommandStatus(rawValue: 0x03)
  /// The session is not bound, or not for this command.
  public static let incorrectBindStatus = CommandStatus(rawValue: 0x04)
  /// The account already has as many sessions as it may.
  public static let alreadyBound = CommandStatus(rawValue: 0x05)
  /// The bind failed. The server does not say why.
  public static let bindFailed = CommandStatus(rawValue: 0x0D)
  /// Wrong password.
  public static let invalidPassword = CommandStatus(rawValue: 0x0E)
  /// Unknown system ID.
  public static let invalidSystemID = CommandStatus(rawValue: 0x0F)
  /// The server's queue is full.
  public static let messageQueueFull = CommandStatus(rawValue: 0x14)
  /// The account exceeds its rate.
  public static let throttled = CommandStatus(rawValue: 0x58)
  /// Temporary error of the receiver.
  public static let temporaryReceiverError = CommandStatus(rawValue: 0x64)
  /// Permanent error of the receiver.
  public static let permanentReceiverError = CommandStatus(rawValue: 0x65)

  var asksToSlowDown: Bool { self == .throttled || self == .messageQueueFull }
}

extension CommandStatus: CustomStringConvertible {
  /// As tables and documents write it: `0x00000058`.
  public var description: String {
    "0x" + Hexadecimal.text(UInt64(rawValue), width: 8, uppercase: true)
  }
}
