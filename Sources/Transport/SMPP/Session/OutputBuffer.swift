struct OutputBuffer {
  /// Limit that a server which reads never reaches: a window of the longest submissions is smaller.
  static let maxBytes = 4 << 20
  /// Written bytes at the front, kept until they are dropped together.
  private static let maxWritten = 64 << 10
  /// Positions at the front that are no longer needed, dropped together.
  private static let maxUsed = 256

  private var bytes: [UInt8] = []
  private var start = 0
  /// Positions of the submissions' first bytes, counted like `written`, that lie beyond it.
  private var messages: [(at: UInt64, ticket: UInt64)] = []
  private var firstMessage = 0
  private var written: UInt64 = 0

  var isEmpty: Bool { start == bytes.count }

  var isOverfull: Bool { bytes.count - start > Self.maxBytes }

  var keptBytes: Int { bytes.count }

  mutating func append(_ pdu: [UInt8], ticket: UInt64?) {
    if let ticket { messages.append((written + UInt64(bytes.count - start), ticket)) }
    bytes += pdu
  }

  func withUnwritten(_ body: (UnsafeRawBufferPointer) -> Transfer) -> Transfer {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
  }

  mutating func didWrite(_ count: Int) {
    start += count
    written += UInt64(count)
    if start == bytes.count {
      bytes.removeAll(keepingCapacity: true)
      start = 0
    } else if start > Self.maxWritten {
      bytes.removeFirst(start)
      start = 0
    }
    while firstMessage < messages.count, messages[firstMessage].at < written { firstMessage += 1 }
    if firstMessage == messages.count || firstMessage > Self.maxUsed {
      messages.removeFirst(firstMessage)
      firstMessage = 0
    }
  }

  /// Submissions of which no byte was written.
  var unsent: Set<UInt64> { Set(messages[firstMessage...].map(\.ticket)) }
}
