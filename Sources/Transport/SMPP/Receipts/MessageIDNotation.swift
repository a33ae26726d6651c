/// A server's notation of message IDs. Some servers respond in one number system and report in another.
public enum MessageIDNotation: String, Sendable, Hashable, CaseIterable {
  /// The same text in responses and delivery reports.
  case same
  /// Hexadecimal in responses, decimal in delivery reports. IDs are shown in decimal.
  case hexInResponses
  /// Decimal in responses, hexadecimal in delivery reports. IDs are shown in decimal.
  case hexInReceipts

  /// Normalizes the ID of a response, so that it equals that of its delivery report.
  func ofResponse(_ id: String) -> String { canonical(id, isHex: self == .hexInResponses) }

  func ofReceipt(_ id: String) -> String { canonical(id, isHex: self == .hexInReceipts) }

  /// IDs that are not 64-bit numbers stay unchanged.
  private func canonical(_ id: String, isHex: Bool) -> String {
    guard self != .same, let number = UInt64(id, radix: isHex ? 16 : 10) else { return id }
    return String(number)
  }
}
