/// How a server writes the IDs of messages. There are servers that answer in one number system and report in the other.
public enum MessageIDNotation: String, Sendable, Hashable, CaseIterable {
  /// The same text in both.
  case same
  /// Hexadecimal in responses, decimal in receipts. IDs are shown in decimal.
  case hexInResponses
  /// Decimal in responses, hexadecimal in receipts. IDs are shown in decimal.
  case hexInReceipts

  /// The ID of a response, so written that the one of its receipt is equal to it.
  func ofResponse(_ id: String) -> String { canonical(id, isHex: self == .hexInResponses) }

  /// The ID of a receipt, so written that the one of its response is equal to it.
  func ofReceipt(_ id: String) -> String { canonical(id, isHex: self == .hexInReceipts) }

  /// What is no number of 64 bits stays as it is.
  private func canonical(_ id: String, isHex: Bool) -> String {
    guard self != .same, let number = UInt64(id, radix: isHex ? 16 : 10) else { return id }
    return String(number)
  }
}
