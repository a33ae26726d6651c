import TestSupport
import Testing

@testable import PostgreSQL

@Suite struct BinaryFormatTests {
  /// A valid array of two elements, the second of them NULL.
  static let array: [UInt8] =
    [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 2, 0, 0, 0, 1]
    + [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0xFF, 0xFF, 0xFF, 0xFF]

  static func integers(_ bytes: [UInt8]) -> [Int64?]? {
    bytes.withUnsafeBytes { value in
      BinaryFormat.elements(value, type: .int8Array) { BinaryFormat.integer($0, type: $1) }
    }
  }

  @Test func `A value that is written can be read`() throws {
    let values = try BinaryFormat.Values([.integers([7, nil])], maxBytes: 100)
    #expect(values.bytes.dropLast() == Self.array[...])
    #expect(Self.integers(Self.array) == [7, nil])
  }

  @Test func `An array that is cut off anywhere is refused`() {
    for length in 0..<Self.array.count { #expect(Self.integers(Array(Self.array.prefix(length))) == nil) }
    #expect(Self.integers(Self.array + [0]) == nil)
  }

  @Test func `No change of bytes makes the reader trap`() {
    var random = SplitMix(state: 1)
    for _ in 0..<20_000 {
      var bytes = Self.array
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random)!
      }
      if let integers = Self.integers(bytes) { #expect(integers.count <= 4) }
    }
  }

  @Test func `An integer must have the length of its type`() {
    for length in 0...16 where length != 8 {
      [UInt8](repeating: 1, count: length).withUnsafeBytes { #expect(BinaryFormat.integer($0, type: .int8) == nil) }
    }
  }

  @Test func `A text that is not UTF-8 is refused`() {
    [UInt8]([0xC3, 0x28]).withUnsafeBytes { #expect(BinaryFormat.text($0, type: .text) == nil) }
  }

  @Test func `Values and arrays have a limit`() {
    for value in [PostgreSQLValue.bytes([0, 1, 2, 3, 4]), .text("12345"), .integers([1])] {
      let error = #expect(throws: StoreError.self) { try BinaryFormat.Values([value], maxBytes: 4) }
      #expect(error?.code == .tooLarge)
    }
  }
}
