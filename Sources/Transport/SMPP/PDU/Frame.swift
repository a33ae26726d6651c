/// One PDU as it came: its header taken apart, its body not yet.
struct Frame: Sendable, Hashable {
  let command: UInt32
  let status: CommandStatus
  let sequence: UInt32
  let body: ArraySlice<UInt8>
}

/// Cuts what a connection brings into PDUs.
struct FrameReader {
  static let headerBytes = 16
  /// The longest PDU that is read: a payload of 64 KiB and as much as the other fields can take.
  static let maxBytes = 0x1_1000

  /// What came, from `start` on not yet handed out.
  private var buffer: [UInt8] = []
  private var start = 0

  mutating func append(_ bytes: some Collection<UInt8>) {
    if start > 0 {
      buffer.removeFirst(start)
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  /// The next PDU that is complete, or nil.
  ///
  /// - Throws: `BadLength` when its length cannot be one; where the next PDU begins is not known then.
  mutating func next() throws(BadLength) -> Frame? {
    var reader = ByteReader(buffer[start...])
    guard buffer.count - start >= Self.headerBytes, let length = reader.uint32(), let command = reader.uint32(),
      let status = reader.uint32(), let sequence = reader.uint32()
    else { return nil }
    guard (UInt32(Self.headerBytes)...UInt32(Self.maxBytes)).contains(length) else {
      throw BadLength(sequence: sequence)
    }
    guard let body = reader.bytes(Int(length) - Self.headerBytes) else { return nil }
    start += Int(length)
    return Frame(
      command: command, status: CommandStatus(rawValue: status), sequence: sequence, body: ArraySlice(Array(body)))
  }

  /// A length that no PDU of this protocol has.
  struct BadLength: Error {
    /// What stands in the place of the sequence number.
    let sequence: UInt32
  }
}
