import CountersignMessages
import CountersignTelemetry
import JobEngine
import SMPP

extension SessionReport {
  init(_ receipt: SMPPReceipt, lane: String, at: UnixTime) {
    let code = receipt.errorCode
    self.init(
      lane: lane, reference: receipt.messageID, state: State(receipt.state), providerCode: code,
      reason: Reason(receipt.state, providerCode: code), at: at)
    job = receipt.origin.map { MessageIdentity(key: $0.id) }
    correlationID = receipt.origin?.correlationID
  }
}

extension SessionReport.State {
  fileprivate init(_ state: MessageState) {
    switch state {
    case .enroute, .accepted: self = .pending
    case .delivered: self = .delivered
    case .expired, .deleted, .undeliverable, .rejected: self = .undelivered
    case .unknown: self = .unknown
    }
  }
}

extension Reason {
  /// Reason that a message in this state will not arrive. `nil` if it may.
  fileprivate init?(_ state: MessageState, providerCode: String?) {
    switch state {
    case .enroute, .accepted, .delivered, .unknown: return nil
    case .expired:
      self.init("UNREACHABLE", "The handset could not be reached as long as the message was valid.")
    case .deleted: self.init("UNDELIVERABLE", "The message was deleted on its way.")
    case .undeliverable: self.init("UNDELIVERABLE", "The network could not deliver the message.")
    case .rejected: self.init("BLOCKED", "The network rejected the message.")
    }
    self.providerCode = providerCode
  }
}
