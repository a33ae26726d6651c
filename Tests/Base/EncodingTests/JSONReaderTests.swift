import CountersignEncoding
import FoundationEssentials
import Testing

private func nested(_ depth: Int) -> String {
  String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
}

@Suite struct JSONReaderTests {
  private static let json = JSONReader(maxBytes: 4_096)
  private static let json5 = JSONReader(maxBytes: 4_096, syntax: .json5)

  private func value(_ text: String, _ reader: JSONReader = json) throws(JSONRefusal) -> JSONValue {
    try reader.value(of: Array(text.utf8))
  }

  private func refusal(_ bytes: [UInt8], _ reader: JSONReader = json) -> JSONRefusal? {
    do throws(JSONRefusal) { _ = try reader.value(of: bytes) } catch { return error }
    return nil
  }

  private func refusal(_ text: String, _ reader: JSONReader = json) -> JSONRefusal? {
    refusal(Array(text.utf8), reader)
  }

  @Test func `Values of every kind are read`() throws {
    let text = #" {"a_b":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,false,null,{"c":{}}],"\u0064":"é","":[]} "#
    #expect(
      try value(text)
        == .object([
          "a_b": .array([
            .integer(1), .number("-2.5e3"), .text("xé😀"), .bool(true), .bool(false), .null,
            .object(["c": .object([:])]),
          ]),
          "d": .text("é"), "": .array([]),
        ]))
    #expect(try value(#""\"\\\/\b\f\n\r\t\u0000""#) == .text("\"\\/\u{8}\u{C}\n\r\t\0"))
  }

  @Test(
    arguments: [
      ("0", .integer(0)), ("-7", .integer(-7)), ("9223372036854775807", .integer(.max)),
      ("9223372036854775808", .number("9223372036854775808")), ("1.50", .number("1.50")), ("1E+2", .number("1e2")),
      ("1e-2", .number("1e-2")), ("1e999999999", .number("1e999999999")),
    ] as [(String, JSONValue)])
  func `No number is too large to be read`(text: String, number: JSONValue) throws {
    #expect(try value(text) == number)
  }

  @Test func `Numbers are whole in any form`() throws {
    for text in ["5", "5.0", "5e0", "0.5e1"] { #expect(try value(text).wholeNumber == 5) }
    for text in ["5.5", "1e300", "1e999999999", "9223372036854775808", "true", "\"5\""] {
      #expect(try value(text).wholeNumber == nil)
    }
  }

  @Test func `JSON5 is read`() throws {
    let text = """
      // one
      { a: 'x"', $b_2: [0x1F, -0xa, +.5, 5., -1e3, +2,], /* * two ** */ "c": "\\x41\\v\\0\\'\\
      z\ttab", ключ: { }, } // three
      """
    #expect(
      try value(text, Self.json5)
        == .object([
          "a": .text("x\""),
          "$b_2": .array([.integer(31), .integer(-10), .number("0.5"), .integer(5), .number("-1e3"), .integer(2)]),
          "c": .text("A\u{B}\0'z\ttab"), "ключ": .object([:]),
        ]))
    #expect(try value("[1,\u{B}\u{C}2]", Self.json5) == .array([.integer(1), .integer(2)]))
  }

  @Test(
    arguments: [
      "{a:1}", "{'a':1}", "['a']", "[1,]", "{\"a\":1,}", "[,]", "[1 2]", "[+1]", "[.5]", "[1.]", "[01]", "[-]", "[1e]",
      "[0x1]", "[NaN]", "[Infinity]", "[tru]", "[True]", "// no\n1", "/**/1", "1 2", "{}}", "]", "{\"a\"}", "{\"a\":}",
      "{1:2}", "[\u{B}1]", "\"\n\"", "\"\t\"", #""\x41""#, #""\u12""#, #""\u00zz""#, #""\ud800""#, #""\ud800\u0041""#,
      #""\udc00""#, #""\'""#, #""\"#, "\"\\u12",
    ])
  func `What is not JSON is refused`(text: String) {
    let refusal = refusal(text)
    #expect(refusal == .endsEarly || refusal == .malformed(line: 1))
  }

  @Test(
    arguments: [
      "[NaN]", "[Infinity]", "[.]", "[+]", "[1 2]", "[0x]", "[0xFFFFFFFFFFFFFFFF]", "[01]", "{1a:2}", "{a b:1}",
      "{,}", "[,]", "[1,,2]", "{a:1,,}", "'\n'", #"'\q'"#, #"'\x4'"#, "/ 1", "[1]/", "/*/",
    ])
  func `What is not JSON5 is refused`(text: String) {
    #expect(refusal(text, Self.json5) != nil)
  }

  @Test func `The line of an error is named`() {
    #expect(refusal("{\n\"a\": 1\n\"b\": 2}") == .malformed(line: 3))
    #expect(refusal("{\n\"a\": 1,\n\"b\": {\"a\": 1},\n\"a\": {\n}}") == .repeatedName(line: 4))
    #expect(refusal("{\n") == .endsEarly)
    #expect(refusal("") == .endsEarly)
    #expect(refusal("/* a\n", Self.json5) == .endsEarly)
  }

  @Test func `A name twice in one object is refused`() throws {
    for text in [#"{"a":1,"a":1}"#, #"[{"b":{"a":1,"\u0061":2}}]"#, #"{"é":1,"e\u0301":2}"#] {
      #expect(refusal(text) == .repeatedName(line: 1), "\(text)")
      #expect(throws: JSONRefusal.repeatedName(line: 1)) { try Self.json.decode(JSONAnything.self, from: text) }
    }
    #expect(refusal("{a: 1, 'a': 1}", Self.json5) == .repeatedName(line: 1))
    #expect(refusal(#"[{"a":{"a":1}},{"a":[{"a":1}]}]"#) == nil)
  }

  /// As RabbitMQ's management API does for some queues (rabbitmq-server, issue 10929).
  @Test func `Answers of servers may have a name twice, and the first counts`() throws {
    let reader = JSONReader(maxBytes: 100, allowsRepeatedNames: true)
    #expect(try reader.value(of: Array(#"{"a":1,"b":2,"a":3}"#.utf8)).members?["a"] == reader.value(of: [0x31]))
    #expect(try reader.decode([String: Int].self, from: #"{"a":1,"b":2,"a":1}"#) == ["a": 1, "b": 2])
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
    for reader in [Self.json, Self.json5] {
      #expect(refusal(text, reader) == .tooDeep(maxDepth: 32))
      #expect(throws: JSONRefusal.tooDeep(maxDepth: 32)) { try reader.decode(JSONAnything.self, from: text) }
    }
  }

  @Test func `The bound is exact`() throws {
    for reader in [Self.json, Self.json5] {
      #expect(refusal(nested(JSONReader.maxDepth), reader) == nil)
      #expect(refusal(nested(JSONReader.maxDepth + 1), reader) == .tooDeep(maxDepth: 32))
      #expect(refusal("[" + Array(repeating: nested(31), count: 20).joined(separator: ",") + "]", reader) == nil)
      // A surplus of closing brackets buys no opening ones.
      #expect(refusal("[]]]]]" + nested(33), reader) == .malformed(line: 1))
    }
  }

  @Test func `Depth and number of values are the callers`() {
    let reader = JSONReader(maxBytes: 4_096, maxDepth: 2, maxValues: 4)
    #expect(refusal("[[1,2]]", reader) == nil)
    #expect(refusal("[[[]]]", reader) == .tooDeep(maxDepth: 2))
    #expect(refusal("[1,2,3,4]", reader) == .tooManyValues(maxValues: 4))
    #expect(refusal(#"{"a":1,"b":{},"c":1,"d":1}"#, reader) == .tooManyValues(maxValues: 4))
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
    #expect(refusal(#"["\u123\","# + brackets) == .malformed(line: 1))
    #expect(refusal(#"["\x4\","# + brackets, Self.json5) == .malformed(line: 1))
  }

  @Test func `Comments and single quotes of JSON5`() {
    let brackets = String(repeating: "[", count: 513)
    #expect(refusal("// \(brackets)\n[1, /* \(brackets) * / ** */ 2] // '\(brackets)", Self.json5) == nil)
    #expect(refusal("['\"\(brackets)\\'\(brackets)', \"'\"]", Self.json5) == nil)
    // A comment ends at a lone carriage return as well.
    for text in ["// '\n\(brackets)", "// '\r\(brackets)", "/*/ \" */\(brackets)", "/**/\(brackets)"] {
      #expect(refusal(text, Self.json5) == .tooDeep(maxDepth: 32))
    }
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

  /// The decoder takes all that is read, and what is written is read the same.
  @Test(arguments: [JSONReader.Syntax.json, .json5])
  func `Any change of a text is read or refused`(syntax: JSONReader.Syntax) throws {
    let reader = JSONReader(maxBytes: 4_096, syntax: syntax)
    let sample = Array(#"{"a_b":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,null,{"c":{}}],"d":"é"}"#.utf8)
    let pieces = [0, 0x0A, 0x20, 0xC3] + Array(#""'\/*{}[]:,.-+0ex"#.utf8)
    for index in sample.indices {
      _ = refusal(Array(sample[..<index]), reader)
      for piece in pieces {
        for text in [
          sample[..<index] + [piece] + sample[index...], sample[..<index] + [piece] + sample[(index + 1)...],
        ] {
          guard let value = try? reader.value(of: text) else { continue }
          #expect(try Self.json.value(of: Array(value.json().utf8)) == value)
          #expect(try Self.json.value(of: Array(value.json(indented: true).utf8)) == value)
          #expect(throws: Never.self) { try reader.decode(JSONAnything.self, from: text) }
        }
      }
    }
  }

  @Test func `The decoder says the rest`() throws {
    #expect(try Self.json.decode([String: Int].self, from: #"{"a":1}"#) == ["a": 1])
    #expect(try Self.json.decode([String: Int].self, from: Data(#"{"a":1}"#.utf8)) == ["a": 1])
    #expect(try Self.json.decode([String: Int].self, from: Array(#"x{"a":1}"#.utf8)[1...]) == ["a": 1])
    #expect(try Self.json5.decode([String: Double].self, from: "{a: .5, b: 0x10,} // one") == ["a": 0.5, "b": 16])
    #expect(throws: DecodingError.self) { try Self.json.decode([String: Int].self, from: #"{"a":"b"}"#) }
  }

  @Test func `Values are written sorted, on one line or indented`() throws {
    let value = try value(#"{"b":[],"a":[1,{"c":null}],"d":{},"\"\n":1.50}"#)
    #expect(value.json() == #"{"\"\u000a":1.50,"a":[1,{"c":null}],"b":[],"d":{}}"#)
    #expect(
      value.json(indented: true) == """
        {
          "\\"\\u000a": 1.50,
          "a": [
            1,
            {
              "c": null
            }
          ],
          "b": [],
          "d": {}
        }
        """)
  }

  @Test func `Refusals repeat nothing`() {
    #expect(JSONRefusal.tooLarge(maxBytes: 9).description == "is longer than 9 bytes")
    #expect(JSONRefusal.tooDeep(maxDepth: 32).description == "nests deeper than 32 levels")
    #expect(JSONRefusal.malformed(line: 3).description == "is not valid JSON (line 3)")
  }
}

/// Any JSON, of which nothing is kept.
private struct JSONAnything: Decodable {
  init(from decoder: any Decoder) throws {}
}
