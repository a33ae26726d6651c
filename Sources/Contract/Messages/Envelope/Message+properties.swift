public import CountersignAMQP

extension Message {
  /// Checks for faults that the broker allows: properties that are not UTF-8, IDs with control characters, headers that
  /// cannot be published again.
  ///
  /// IDs come back in replies, results and dead letters, in logs and in databases.
  func checkProperties() throws(ContractProblem) {
    if let name = malformedProperties.first {
      throw ContractProblem(
        .invalidField, field: name, name == "headers" ? "has a name that is not UTF-8" : "is not UTF-8")
    }
    try Self.check(messageID, "message_id")
    try Self.check(correlationID, "correlation_id")
    try Self.check(replyTo, "reply_to")
    try Self.check(appID, "app_id")
    try Self.check(userID, "user_id")
    guard !headers.isEmpty else { return }
    for name in MessageHeader.texts {
      guard case .bytes? = headers[name] else { continue }
      throw ContractProblem(.invalidField, field: "headers.\(name)", "is not a string in UTF-8")
    }
    try Self.check(headers[MessageHeader.causationID]?.stringValue, "headers.\(MessageHeader.causationID)")
    try Self.check(headers[MessageHeader.sender]?.stringValue, "headers.\(MessageHeader.sender)")
    guard let size = headerBytes, size <= MessageLimits.maxHeaderBytes else {
      throw ContractProblem(
        .invalidField, field: "headers",
        "take more than \(MessageLimits.maxHeaderBytes) bytes, or are nested too deeply")
    }
  }

  /// Queue for the answer to a message that breaks the contract. `nil` if it names none or an invalid one.
  /// - Parameter sender: sender of the message, as a ``SenderRule`` resolves it.
  public func answerAddress(for sender: String) -> String? {
    guard let replyTo, Self.isShortText(replyTo), ReplyAddress.isAllowed(replyTo, for: sender) else { return nil }
    return replyTo
  }

  static func isShortText(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= MessageLimits.maxShortStringBytes && !hasControlCharacter(text)
  }

  private static func check(_ id: String?, _ name: String) throws(ContractProblem) {
    guard let id else { return }
    guard id.utf8.count <= MessageLimits.maxShortStringBytes else {
      throw ContractProblem(
        .invalidField, field: name, "is longer than \(MessageLimits.maxShortStringBytes) bytes")
    }
    guard !hasControlCharacter(id) else {
      throw ContractProblem(.invalidField, field: name, "holds a control character")
    }
  }

  /// Control characters: U+0000 to U+001F, and U+007F to U+009F, which begin with C2 in UTF-8.
  private static func hasControlCharacter(_ text: String) -> Bool {
    var last: UInt8 = 0
    for byte in text.utf8 {
      if byte < 0x20 || byte == 0x7F || (last == 0xC2 && byte < 0xA0) { return true }
      last = byte
    }
    return false
  }
}
