import FoundationEssentials

/// Fields of a stored value, each a tag, a length and bytes, which are either written or read.
///
/// Each of its methods does both: it writes the value that it is given and returns it, or returns the one that was
/// read. So a value names its fields once. See ``FieldCoded``. Absent values take no room.
public struct FieldCoder: Sendable {
  private static let version: UInt8 = 1
  private static let jsonReader = JSONReader(maxBytes: 1 << 20)

  /// All fields, after the version of the format.
  public private(set) var bytes: [UInt8]
  private let isReading: Bool
  private var places: [(tag: UInt8, range: Range<Int>)] = []
  /// Place of the next field, if it is asked for in the order in which it was written.
  private var next = 0

  /// Writes fields.
  /// - Parameter capacity: expected size in bytes.
  public init(capacity: Int = 512) {
    bytes = []
    bytes.reserveCapacity(capacity)
    bytes.append(Self.version)
    isReading = false
  }

  /// Reads fields.
  /// - Throws: ``UnreadableFields`` when the bytes are damaged, or of a version that this one does not know.
  public init(reading bytes: [UInt8]) throws(UnreadableFields) {
    self.bytes = bytes
    isReading = true
    places.reserveCapacity(24)
    guard bytes.first == Self.version else { throw UnreadableFields() }
    var index = 1
    while index < bytes.count {
      let tag = bytes[index]
      index += 1
      let length = try Self.length(bytes, &index)
      guard length <= bytes.count - index else { throw UnreadableFields() }
      places.append((tag, index..<(index + length)))
      index += length
    }
  }

  private static func length(_ bytes: [UInt8], _ index: inout Int) throws(UnreadableFields) -> Int {
    var length = 0
    for shift in stride(from: 0, through: 28, by: 7) {
      guard index < bytes.count else { throw UnreadableFields() }
      let byte = bytes[index]
      index += 1
      length |= Int(byte & 0x7F) << shift
      if byte < 0x80 { return length }
    }
    throw UnreadableFields()
  }

  private mutating func range(_ tag: UInt8) -> Range<Int>? {
    let isNext = next < places.count && places[next].tag == tag
    guard let index = isNext ? next : places.firstIndex(where: { $0.tag == tag }) else { return nil }
    next = index + 1
    return places[index].range
  }

  private mutating func append(_ tag: UInt8, length: Int) {
    bytes.append(tag)
    var rest = UInt32(clamping: length)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  private mutating func append(_ tag: UInt8, _ content: some Collection<UInt8>) {
    append(tag, length: content.count)
    bytes.append(contentsOf: content)
  }

  /// A value that every body of the kind has.
  /// - Throws: ``UnreadableFields`` when it is absent.
  public static func present<Value>(_ value: Value?) throws(UnreadableFields) -> Value {
    guard let value else { throw UnreadableFields() }
    return value
  }
}

// MARK: - Scalars

extension FieldCoder {
  /// Text, if it is there.
  public mutating func optional(_ tag: UInt8, _ text: String?) -> String? {
    if isReading { return range(tag).map { String(decoding: bytes[$0], as: UTF8.self) } }
    if let text { append(tag, text.utf8) }
    return text
  }

  /// Text.
  public mutating func required(_ tag: UInt8, _ text: String?) throws(UnreadableFields) -> String {
    try Self.present(optional(tag, text))
  }

  /// Bytes, if they are there.
  public mutating func optional(_ tag: UInt8, _ block: [UInt8]?) -> [UInt8]? {
    if isReading { return range(tag).map { Array(bytes[$0]) } }
    if let block { append(tag, block) }
    return block
  }

  /// Bytes.
  public mutating func required(_ tag: UInt8, _ block: [UInt8]?) throws(UnreadableFields) -> [UInt8] {
    try Self.present(optional(tag, block))
  }

  /// A number, if it is there, in as few bytes as hold it with its sign.
  public mutating func optional(_ tag: UInt8, _ number: Int?) -> Int? {
    if isReading {
      guard let range = range(tag), let first = range.first, range.count <= 8 else { return nil }
      let sign: Int64 = bytes[first] & 0x80 == 0 ? 0 : -1
      return Int(bytes[range].reduce(sign) { $0 << 8 | Int64($1) })
    }
    guard let number else { return nil }
    let value = Int64(number)
    var count = 1
    while count < 8, value >> (8 * Int64(count) - 1) != 0, value >> (8 * Int64(count) - 1) != -1 { count += 1 }
    append(tag, length: count)
    for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * Int64(index)))) }
    return number
  }

  /// A number.
  public mutating func required(_ tag: UInt8, _ number: Int?) throws(UnreadableFields) -> Int {
    try Self.present(optional(tag, number))
  }

  /// A mark, which takes room only if it is set.
  public mutating func flag(_ tag: UInt8, _ isSet: Bool?) -> Bool {
    if isReading { return range(tag) != nil }
    if isSet == true { append(tag, CollectionOfOne(1)) }
    return isSet ?? false
  }

  /// One of the words of a type, if it is there.
  /// - Throws: ``UnreadableFields`` for a word that this version does not know.
  public mutating func optional<Word: RawRepresentable>(
    _ tag: UInt8, _ word: Word?
  ) throws(UnreadableFields) -> Word? where Word.RawValue == String {
    guard let text = optional(tag, word?.rawValue) else { return nil }
    return try Self.present(word ?? Word(rawValue: text))
  }

  /// One of the words of a type.
  public mutating func required<Word: RawRepresentable>(
    _ tag: UInt8, _ word: Word?
  ) throws(UnreadableFields) -> Word where Word.RawValue == String {
    try Self.present(optional(tag, word))
  }
}

// MARK: - Values with fields of their own

extension FieldCoder {
  /// A value with fields of its own, if it is there.
  public mutating func optional<Value: FieldCoded>(
    _ tag: UInt8, _ value: Value?
  ) throws(UnreadableFields) -> Value? {
    if isReading {
      guard let range = range(tag) else { return nil }
      return try Value(fields: Array(bytes[range]))
    }
    if let value { append(tag, try value.fields()) }
    return value
  }

  /// A value with fields of its own.
  public mutating func required<Value: FieldCoded>(_ tag: UInt8, _ value: Value?) throws(UnreadableFields) -> Value {
    try Self.present(optional(tag, value))
  }

  /// Any number of values with fields of their own, in their order.
  public mutating func list<Value: FieldCoded>(
    _ tag: UInt8, _ values: [Value]?
  ) throws(UnreadableFields) -> [Value] {
    var list = values ?? []
    for value in list { append(tag, try value.fields()) }
    for place in places where place.tag == tag { list.append(try Value(fields: Array(bytes[place.range]))) }
    return list
  }

  /// A value as JSON, if it is there: one that is rarely written, and never searched for.
  public mutating func json<Value: Codable>(_ tag: UInt8, _ value: Value?) throws(UnreadableFields) -> Value? {
    if isReading {
      guard let range = range(tag) else { return nil }
      return try Self.present(try? Self.jsonReader.decode(Value.self, from: bytes[range]))
    }
    if let value { append(tag, try Self.present(try? JSONEncoder().encode(value))) }
    return value
  }
}
