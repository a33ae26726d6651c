import CountersignTelemetry

/// Writes delivery receipts (SMPP 3.4, appendix B).
enum SMPPReceiptText {
  static func body(_ report: DeliveryReport, to source: SMPPSubmission.Address) -> [UInt8] {
    let message = report.message
    let (word, code) = word(report.state)
    let digits = String(min(999, max(0, report.errorCode ?? 0)))
    let text =
      "id:\(message.id) sub:001 dlvrd:\(report.state == .delivered ? "001" : "000") submit date:\(date(message.receivedAt)) "
      + "done date:\(date(report.time)) stat:\(word) err:\(String(repeating: "0", count: 3 - digits.count) + digits) text:"
    let from: [UInt8] = [1, 1] + SMPPFields.cString(String(message.to.dropFirst()))
    let to: [UInt8] = [source.ton, source.npi] + SMPPFields.cString(source.text)
    // esm_class, protocol_id, priority_flag, the two times, registered_delivery, replace, data_coding, default message.
    let middle: [UInt8] = [0x04, 0, 0, 0, 0, 0, 0, 0, 0]
    return [0] + from + to + middle + [UInt8(clamping: text.utf8.count)] + Array(text.utf8)
      + parameter(0x1E, SMPPFields.cString(message.id)) + parameter(0x427, [code])
  }

  private static func parameter(_ tag: UInt16, _ value: [UInt8]) -> [UInt8] {
    [UInt8(tag >> 8), UInt8(truncatingIfNeeded: tag), 0, UInt8(clamping: value.count)] + value
  }

  private static func word(_ state: ReceiptState) -> (String, UInt8) {
    switch state {
    case .sent: ("ENROUTE", 1)
    case .delivered: ("DELIVRD", 2)
    case .undelivered: ("UNDELIV", 5)
    case .failed: ("REJECTD", 8)
    }
  }

  private static func date(_ time: UnixTime) -> String {
    String(time.rfc3339.prefix(16).filter(\.isNumber).dropFirst(2))
  }
}
