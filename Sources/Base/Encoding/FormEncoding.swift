/// `application/x-www-form-urlencoded` (WHATWG URL Standard, sections 5.1 and 5.2): queries and bodies of forms.
public enum FormEncoding {
  /// The most fields that ``decode(_:)`` reads. It ignores the rest.
  public static let maxFields = 1_000

  /// - Parameter fields: names and values, in the order in which they are sent.
  public static func encode(_ fields: [(name: String, value: String)]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(fields.reduce(0) { $0 + $1.name.utf8.count + 2 * $1.value.utf8.count + 2 })
    for (index, field) in fields.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: "&")) }
      append(field.name, to: &bytes)
      bytes.append(UInt8(ascii: "="))
      append(field.value, to: &bytes)
    }
    return bytes
  }

  /// The fields in order. Bytes that are not UTF-8 become U+FFFD; a `%` without two hexadecimal digits stays.
  public static func decode(_ bytes: some Sequence<UInt8>) -> [(name: String, value: String)] {
    Array(bytes).split(separator: UInt8(ascii: "&"), maxSplits: maxFields).prefix(maxFields).map { field in
      let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return (name: text(parts[0]), value: parts.count > 1 ? text(parts[1]) : "")
    }
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: PercentEncoding.bytes(of: bytes, plusIsSpace: true), as: UTF8.self)
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"):
        bytes.append(byte)
      case UInt8(ascii: " "): bytes.append(UInt8(ascii: "+"))
      default: PercentEncoding.append(escaped: byte, to: &bytes)
      }
    }
  }
}
