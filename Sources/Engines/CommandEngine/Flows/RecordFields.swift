public import CountersignMessages
public import CountersignTelemetry
public import RecordStore

/// Writes the body of a record: a version, then its fields, each as a tag, a length and bytes.
///
/// Absent values take no room. A later version adds tags, and reads bodies without them; a tag never changes its meaning.
public struct FieldWriter: Sendable {
  static let version: UInt8 = 1

  /// The body so far.
  public private(set) var bytes: [UInt8] = [Self.version]

  /// - Parameter capacity: expected size in bytes.
  public init(capacity: Int = 512) {
    bytes.reserveCapacity(capacity)
  }

  /// Adds text, unless it is absent.
  public mutating func put(_ tag: UInt8, _ text: String?) {
    guard let text else { return }
    put(tag, length: text.utf8.count)
    bytes.append(contentsOf: text.utf8)
  }

  /// Adds bytes, unless they are absent.
  public mutating func put(_ tag: UInt8, _ block: [UInt8]?) {
    guard let block else { return }
    put(tag, length: block.count)
    bytes.append(contentsOf: block)
  }

  /// Adds a number, unless it is absent.
  public mutating func put(_ tag: UInt8, _ number: Int?) {
    guard let number else { return }
    // As few bytes as hold it with its sign.
    let value = Int64(number)
    var count = 1
    while count < 8, value >> (8 * Int64(count) - 1) != 0, value >> (8 * Int64(count) - 1) != -1 { count += 1 }
    put(tag, length: count)
    for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * Int64(index)))) }
  }

  /// Adds a time, unless it is absent.
  public mutating func put(_ tag: UInt8, _ time: UnixTime?) { put(tag, time.map { Int($0.milliseconds) }) }

  /// Adds a mark, if it is set.
  public mutating func put(_ tag: UInt8, _ isSet: Bool) {
    if isSet { put(tag, 1) }
  }

  private mutating func put(_ tag: UInt8, length: Int) {
    bytes.append(tag)
    var rest = UInt32(clamping: length)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}

/// Reads what ``FieldWriter`` wrote.
public struct FieldReader: Sendable {
  private let bytes: [UInt8]
  private var fields: [(tag: UInt8, range: Range<Int>)] = []

  /// - Throws: ``StoreError/Code/content`` when the bytes are damaged, or of a version that this one does not know.
  public init(_ bytes: [UInt8]) throws(StoreError) {
    self.bytes = bytes
    fields.reserveCapacity(24)
    guard bytes.first == FieldWriter.version else { throw Self.unreadable }
    var index = 1
    while index < bytes.count {
      let tag = bytes[index]
      index += 1
      let length = try Self.length(bytes, &index)
      guard length <= bytes.count - index else { throw Self.unreadable }
      fields.append((tag, index..<(index + length)))
      index += length
    }
  }

  private static func length(_ bytes: [UInt8], _ index: inout Int) throws(StoreError) -> Int {
    var length = 0
    for shift in stride(from: 0, through: 28, by: 7) {
      guard index < bytes.count else { throw unreadable }
      let byte = bytes[index]
      index += 1
      length |= Int(byte & 0x7F) << shift
      if byte < 0x80 { return length }
    }
    throw unreadable
  }

  private func range(_ tag: UInt8) -> Range<Int>? { fields.first { $0.tag == tag }?.range }

  /// Text, if it is there.
  public func text(_ tag: UInt8) -> String? { range(tag).map { String(decoding: bytes[$0], as: UTF8.self) } }

  /// Bytes, if they are there.
  public func block(_ tag: UInt8) -> [UInt8]? { range(tag).map { Array(bytes[$0]) } }

  /// A number, if it is there.
  public func number(_ tag: UInt8) -> Int? {
    guard let range = range(tag), let first = range.first, range.count <= 8 else { return nil }
    let sign: Int64 = bytes[first] & 0x80 == 0 ? 0 : -1
    return Int(bytes[range].reduce(sign) { $0 << 8 | Int64($1) })
  }

  /// A time, if it is there.
  public func time(_ tag: UInt8) -> UnixTime? { number(tag).map { UnixTime(milliseconds: Int64($0)) } }

  /// Whether a mark is set.
  public func isSet(_ tag: UInt8) -> Bool { range(tag) != nil }

  /// One of the words of a type, if it is there.
  /// - Throws: ``StoreError/Code/content`` for a word that this version does not know.
  public func word<Word: RawRepresentable>(_ tag: UInt8, _ type: Word.Type) throws(StoreError) -> Word?
  where Word.RawValue == String {
    guard let text = text(tag) else { return nil }
    guard let word = Word(rawValue: text) else { throw Self.unreadable }
    return word
  }

  /// A value that every body of the kind has.
  /// - Throws: ``StoreError/Code/content`` when it is absent.
  public func required<Value>(_ value: Value?) throws(StoreError) -> Value {
    guard let value else { throw Self.unreadable }
    return value
  }

  /// A body that this version cannot read.
  public static let unreadable = StoreError(
    .content, "the body of a record cannot be read: it is damaged, or another version of the program wrote it")
}

extension WorkingSet {
  /// Stores a value under its ID, in the place of the one that was loaded, if any.
  /// - Parameters:
  ///   - id: its identity.
  ///   - body: its content.
  ///   - dueAt: time at which a sweep hands it to its flow.
  ///   - discardAt: time from which it may be deleted unread.
  ///   - uniqueKeys: keys that it alone holds.
  ///   - groupKeys: keys that it shares.
  /// - Throws: as ``put(_:)``.
  public mutating func store(
    _ id: RecordID, body: [UInt8], dueAt: UnixTime?, discardAt: UnixTime?, uniqueKeys: [UniqueKey] = [],
    groupKeys: [GroupKey] = []
  ) throws(StoreError) {
    var record = records[id]?.current ?? Record(id, body: body)
    record.body = body
    record.dueAt = dueAt
    record.discardAt = discardAt
    record.uniqueKeys = uniqueKeys
    record.groupKeys = groupKeys
    try put(record)
  }
}

/// The envelope of a command that waits, inside the body of a record: what its answer needs.
private enum Tag {
  static let type: UInt8 = 1
  static let messageID: UInt8 = 2
  static let correlationID: UInt8 = 3
  static let replyTo: UInt8 = 4
  static let userID: UInt8 = 5
  static let traceparent: UInt8 = 6
}

extension FieldWriter {
  /// Adds the envelope of a waiting command, unless it is absent: its type and ID, its sender, and the address, trace
  /// and correlation of its reply.
  public mutating func put(_ tag: UInt8, _ envelope: Envelope?) {
    guard let envelope else { return }
    var fields = FieldWriter(capacity: 192)
    fields.put(Tag.type, envelope.type.text)
    fields.put(Tag.messageID, envelope.messageID)
    fields.put(Tag.correlationID, envelope.correlationID)
    fields.put(Tag.replyTo, envelope.replyTo)
    fields.put(Tag.userID, envelope.userID)
    fields.put(Tag.traceparent, envelope.trace?.traceparent)
    put(tag, fields.bytes)
  }
}

extension FieldReader {
  /// The envelope of a waiting command, if it is there.
  /// - Throws: ``StoreError/Code/content`` when it cannot be read.
  public func envelope(_ tag: UInt8) throws(StoreError) -> Envelope? {
    guard let block = block(tag) else { return nil }
    let fields = try FieldReader(block)
    return Envelope(
      type: try required(fields.text(Tag.type).flatMap(MessageType.init(parsing:))),
      messageID: try required(fields.text(Tag.messageID)), correlationID: fields.text(Tag.correlationID),
      replyTo: fields.text(Tag.replyTo), userID: fields.text(Tag.userID),
      trace: fields.text(Tag.traceparent).flatMap(TraceContext.init(traceparent:)))
  }
}
