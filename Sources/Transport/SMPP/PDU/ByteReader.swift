/// Reads fields off the front of untrusted bytes, and never beyond their end.
struct ByteReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() -> UInt8? { rest.popFirst() }

  mutating func uint16() -> UInt16? {
    bytes(2).map { $0.reduce(0) { $0 << 8 | UInt16($1) } }
  }

  mutating func uint32() -> UInt32? {
    bytes(4).map { $0.reduce(0) { $0 << 8 | UInt32($1) } }
  }

  mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
    guard rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func cString(atMost limit: Int) -> ArraySlice<UInt8>? {
    guard let end = rest.prefix(limit + 1).firstIndex(of: 0) else { return nil }
    defer { rest = rest[(end + 1)...] }
    return rest[..<end]
  }
}
