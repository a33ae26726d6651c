/// The server's binary format of values: integers in network order, texts and bytes as they are, arrays with a header.
enum BinaryFormat {
  /// An array's header: the number of dimensions, whether there are NULLs, the type of the elements. And, unless there
  /// are none, the length and the first subscript (src/backend/utils/adt/arrayfuncs.c, array_send).
  private static let emptyHeader = 12
  private static let header = 20

  // MARK: Reading

  static func integer(_ value: UnsafeRawBufferPointer, type: ServerType) -> Int64? {
    switch (type, value.count) {
    case (.int8, 8): Int64(bitPattern: unsigned(value, at: 0, bytes: 8))
    case (.int4, 4): Int64(Int32(truncatingIfNeeded: unsigned(value, at: 0, bytes: 4)))
    case (.int2, 2): Int64(Int16(truncatingIfNeeded: unsigned(value, at: 0, bytes: 2)))
    case (.oid, 4): Int64(unsigned(value, at: 0, bytes: 4))
    case (.bool, 1): value[0] == 0 ? 0 : 1
    default: nil
    }
  }

  static func text(_ value: UnsafeRawBufferPointer, type: ServerType) -> String? {
    switch type {
    case .text, .varchar, .bpchar, .name, .unknown, .char:
      String(validating: value, as: UTF8.self)
    default: nil
    }
  }

  static func bytes(_ value: UnsafeRawBufferPointer, type: ServerType) -> [UInt8]? {
    type == .bytea ? Array(value) : nil
  }

  static func elements<T>(
    _ value: UnsafeRawBufferPointer, type: ServerType, _ decode: (UnsafeRawBufferPointer, ServerType) -> T?
  ) -> [T?]? {
    guard value.count >= emptyHeader else { return nil }
    let element = ServerType(number: UInt32(unsigned(value, at: 8, bytes: 4)))
    switch unsigned(value, at: 0, bytes: 4) {
    case 0: return decodes(element, decode) ? [] : nil
    case 1: break
    default: return nil
    }
    guard value.count >= header else { return nil }
    let count = Int(unsigned(value, at: 12, bytes: 4))
    // Each element has a length of four bytes at least: a larger count is a lie that would cost memory.
    guard count <= (value.count - header) / 4 else { return nil }
    return elements(value, count, of: element, decode)
  }

  private static func elements<T>(
    _ value: UnsafeRawBufferPointer, _ count: Int, of type: ServerType,
    _ decode: (UnsafeRawBufferPointer, ServerType) -> T?
  ) -> [T?]? {
    var elements: [T?] = []
    elements.reserveCapacity(count)
    var offset = header
    for _ in 0..<count {
      guard offset + 4 <= value.count else { return nil }
      let length = Int(Int32(truncatingIfNeeded: unsigned(value, at: offset, bytes: 4)))
      offset += 4
      if length == -1 {
        elements.append(nil)
        continue
      }
      guard length >= 0, length <= value.count - offset else { return nil }
      guard let element = decode(UnsafeRawBufferPointer(rebasing: value[offset..<(offset + length)]), type) else {
        return nil
      }
      elements.append(element)
      offset += length
    }
    return offset == value.count ? elements : nil
  }

  /// Whether an array without elements has the type that is asked for: tried on a value of that type.
  private static func decodes<T>(_ type: ServerType, _ decode: (UnsafeRawBufferPointer, ServerType) -> T?) -> Bool {
    [0, 1, 2, 4, 8].contains { length in
      [UInt8](repeating: 0, count: length).withUnsafeBytes { decode($0, type) != nil }
    }
  }

  private static func unsigned(_ value: UnsafeRawBufferPointer, at offset: Int, bytes: Int) -> UInt64 {
    var number: UInt64 = 0
    for position in offset..<(offset + bytes) {
      number = number << 8 | UInt64(value[position])
    }
    return number
  }
}
