import CountersignEncoding
import FoundationEssentials
import Testing

/// A text nested so often, around a number.
private func nested(_ depth: Int) -> String {
  String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
}

/// Any JSON, of which nothing is kept.
private struct Anything: Decodable {
  init(from decoder: any Decoder) throws {}
}

@Suite struct JSONReaderTests {
  private static let json = JSONReader(maxBytes: 4_096)
  private static let json5 = JSONReader(maxBytes: 4_096, syntax: .json5)

  private func refusal(_ bytes: [UInt8], _ reader: JSONReader = json) -> JSONRefusal? {
    do {
      _ = try reader.decode(Anything.self, from: bytes)
    } catch {
      return error as? JSONRefusal
    }
    return nil
  }

  private func refusal(_ text: String, _ reader: JSONReader = json) -> JSONRefusal? {
    refusal(Array(text.utf8), reader)
  }

  /// Each of these ends a process that hands it to the decoder of Swift 6.3.1.
  @Test(
    arguments: [
      String(repeating: "[", count: 513),
      #"{"phoneNumber":"+14155550123","app":"a","x":"# + String(repeating: "[", count: 512),
      String(repeating: #"{"a":"#, count: 512) + "{",
      String(repeating: " [\n", count: 512) + "[",
      #"{"a":"b\"c\\","d":"# + String(repeating: "[", count: 512),
    ])
  func `Brackets that end the decoder do not reach it`(text: String) {
    #expect(refusal(text) == .tooDeep)
    #expect(refusal(text, Self.json5) == .tooDeep)
  }

  @Test func `The bound is exact`() throws {
    for reader in [Self.json, Self.json5] {
      #expect(refusal(nested(JSONReader.maxDepth), reader) == nil)
      #expect(refusal(nested(JSONReader.maxDepth + 1), reader) == .tooDeep)
      #expect(refusal("[" + Array(repeating: nested(31), count: 20).joined(separator: ",") + "]", reader) == nil)
      // A surplus of closing brackets buys no opening ones.
      #expect(refusal("[]]]]]" + nested(33), reader) == .tooDeep)
    }
  }

  @Test func `Brackets in strings do not count`() throws {
    let brackets = String(repeating: "[{", count: 100)
    for text in [
      brackets, "\\\"\(brackets)", "\\\\\\\"\(brackets)", "\\u0022\(brackets)", "'\(brackets)", "//\(brackets)",
    ] {
      #expect(refusal("[\"\(text)\"]") == nil, "\(text.prefix(8))")
      #expect(refusal("[\"\(text)\"]", Self.json5) == nil, "\(text.prefix(8))")
    }
  }

  /// The decoder steps over four characters after `\u` whatever they are, so that a quotation mark behind ends the string.
  @Test func `An escape cannot hide the end of a string`() {
    let brackets = String(repeating: "[", count: 513)
    #expect(refusal(#"["\u123\","# + brackets) == .malformedEscape)
    #expect(refusal(#"["\u12"]"#) == .malformedEscape)
    #expect(refusal(#"["\x4"]"#) == .malformedEscape)
    #expect(refusal(#"["\x41"]"#) == .malformedEscape)
    #expect(refusal(#"["\x4\","# + brackets, Self.json5) == .malformedEscape)
    #expect(refusal(#"['\x41\v\0\'\"', "\u0041\/"]"#, Self.json5) == nil)
    #expect(refusal("[\"a\\\nb\"]", Self.json5) == nil)
    #expect(refusal(#"["\"\\\/\b\f\n\r\t\u00e9"]"#) == nil)
  }

  @Test func `Comments and single quotes of JSON5`() {
    let brackets = String(repeating: "[", count: 513)
    #expect(refusal("// \(brackets)\n[1, /* \(brackets) * / ** */ 2] // '\(brackets)", Self.json5) == nil)
    #expect(refusal("['\"\(brackets)\\'\(brackets)', \"'\"]", Self.json5) == nil)
    #expect(refusal("// '\n\(brackets)", Self.json5) == .tooDeep)
    // The decoder ends a comment at a lone carriage return as well.
    #expect(refusal("// '\r\(brackets)", Self.json5) == .tooDeep)
    #expect(refusal("/*/ \" */\(brackets)", Self.json5) == .tooDeep)
    #expect(refusal("/**/\(brackets)", Self.json5) == .tooDeep)
    #expect(refusal("'\\\\'\(brackets)", Self.json5) == .tooDeep)
    // JSON has none of them.
    #expect(refusal("//\n\(brackets)") == .tooDeep)
    #expect(refusal("'\(brackets)'") == .tooDeep)
  }

  @Test func `Only UTF-8 without a mark`() throws {
    let text = Array(#"{"a":"b"}"#.utf8)
    #expect(refusal([0xEF, 0xBB, 0xBF] + text) == .byteOrderMark)
    #expect(refusal(text.flatMap { [$0, 0] }) == .nulByte)
    #expect(refusal(text.flatMap { [0, $0] }) == .nulByte)
    #expect(refusal([0xFF, 0xFE] + text.flatMap { [$0, 0] }) == .nulByte)
    #expect(refusal(text.flatMap { [0, 0, 0, $0] }) == .nulByte)
    for bad in [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xA0]] as [[UInt8]] {
      #expect(refusal(Array(#"{"a":""#.utf8) + bad + Array(#""}"#.utf8)) == .notUTF8)
      #expect(refusal(bad + text, Self.json5) == .notUTF8)
    }
    #expect(refusal(#"{"a":"\#u{FEFF}é🔐"}"#) == nil)
  }

  @Test func `The length is the callers`() {
    let reader = JSONReader(maxBytes: 8)
    #expect(refusal("[123456]", reader) == nil)
    #expect(refusal("[1234567]", reader) == .tooLarge(maxBytes: 8))
    #expect(refusal([UInt8](repeating: 0, count: 9), reader) == .tooLarge(maxBytes: 8))
  }

  @Test func `The decoder says the rest`() throws {
    #expect(try Self.json.decode([String: Int].self, from: #"{"a":1}"#) == ["a": 1])
    #expect(try Self.json.decode([String: Int].self, from: Data(#"{"a":1}"#.utf8)) == ["a": 1])
    #expect(try Self.json.decode([String: Int].self, from: Array(#"x{"a":1}"#.utf8)[1...]) == ["a": 1])
    #expect(try Self.json5.decode([String: Int].self, from: "{a: 1,} // one") == ["a": 1])
    for text in ["", "{", "[1", "{a:1}", "// no\n1"] {
      #expect(throws: DecodingError.self) { try Self.json.decode(Anything.self, from: text) }
    }
  }

  @Test func `Refusals repeat nothing`() {
    #expect(JSONRefusal.tooLarge(maxBytes: 9).description == "is longer than 9 bytes")
    #expect(JSONRefusal.tooDeep.description == "nests deeper than 32 levels")
  }
}
