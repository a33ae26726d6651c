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

/// Account of a session. Holds the password, so it does not print.
public struct BindRequest: Sendable, Hashable {
  /// Maximum lengths in bytes (SMPP 3.4, 4.1.1 and 5.2.1 to 5.2.3). libsmpp34 would truncate longer values.
  public static let maxSystemID = 15
  public static let maxPassword = 8
  /// Maximum length of a password. More than the protocol allows, because many servers accept it.
  public static let maxLongPassword = 64
  public static let maxSystemType = 12

  public var systemID: String
  public var password: String
  public var systemType: String

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
