/// Bytes that wait to be written, and which messages begin where in them.
struct OutputBuffer {
  /// More bytes than ever wait for a server that reads: a window of longest messages is less.
  static let maxBytes = 4 << 20
  /// Written bytes at the front that are kept until they are dropped together.
  private static let maxWritten = 64 << 10
  /// The same of places that are not needed any more.
  private static let maxUsed = 256

  private var bytes: [UInt8] = []
  private var start = 0
  /// The places of messages' first bytes, counted like `written`, of those that are not yet behind it.
  private var messages: [(at: UInt64, ticket: UInt64)] = []
  private var firstMessage = 0
  private var written: UInt64 = 0

  var isEmpty: Bool { start == bytes.count }

  /// Whether so much waits that the server surely reads nothing.
  var isOverfull: Bool { bytes.count - start > Self.maxBytes }

  /// The bytes that are kept, written ones included.
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

  /// Messages of which no byte was written.
  var unsent: Set<UInt64> { Set(messages[firstMessage...].map(\.ticket)) }
}
