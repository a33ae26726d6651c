/// What this side sends.
enum OutgoingPDU: Sendable, Hashable {
  case bindTransceiver(BindRequest)
  case submit(ShortMessage)
  case deliverResponse(CommandStatus)
  case enquireLink
  case enquireLinkResponse
  case unbind
  case unbindResponse
  case genericNack(CommandStatus)
}

/// The account that a session is for. Holds the password: it does not print.
public struct BindRequest: Sendable, Hashable {
  /// The longest of each, in bytes (SMPP 3.4, 4.1.1 and 5.2.1 to 5.2.3). libsmpp34 would cut what is longer.
  public static let maxSystemID = 15
  public static let maxPassword = 8
  /// The longest password that is sent, though the protocol allows less: many servers take such ones.
  public static let maxLongPassword = 64
  public static let maxSystemType = 12

  public var systemID: String
  public var password: String
  public var systemType: String

  /// - Parameters:
  ///   - systemID: The name of the account.
  ///   - password: Its password.
  ///   - systemType: What some servers want to know in addition; most want it empty.
  public init(systemID: String, password: String, systemType: String = "") {
    self.systemID = systemID
    self.password = password
    self.systemType = systemType
  }
}

extension BindRequest: CustomStringConvertible, CustomReflectable {
  public var description: String { "<bind>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
