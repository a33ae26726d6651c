/// Delivery state of an SMS (SMPP 3.4, 5.2.28).
public enum MessageState: Sendable, Hashable {
  case enroute, delivered, expired, deleted, undeliverable, accepted, unknown, rejected

  /// From the optional parameter `message_state`.
  init?(code: UInt8) {
    switch code {
    case 1: self = .enroute
    case 2: self = .delivered
    case 3: self = .expired
    case 4: self = .deleted
    case 5: self = .undeliverable
    case 6: self = .accepted
    case 7: self = .unknown
    case 8: self = .rejected
    default: return nil
    }
  }

  /// From the text of a delivery report, where it has seven letters (SMPP 3.4, appendix B). Some servers spell it out.
  init?(word: String) {
    switch word.uppercased().prefix(7) {
    case "ENROUTE", "BUFFERE", "BUFFRED": self = .enroute
    case "DELIVRD", "DELIVER": self = .delivered
    case "EXPIRED": self = .expired
    case "DELETED": self = .deleted
    case "UNDELIV": self = .undeliverable
    case "ACCEPTD", "ACCEPTE": self = .accepted
    case "UNKNOWN": self = .unknown
    case "REJECTD", "REJECTE": self = .rejected
    default: return nil
    }
  }
}
