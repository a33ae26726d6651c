internal import CountersignEncoding

extension JSONReader {
  /// Reads what the broker's management, the processes and the operator's files say. The management lists whole queues, so it may be long.
  static let operations = JSONReader(maxBytes: 16 << 20)
}
