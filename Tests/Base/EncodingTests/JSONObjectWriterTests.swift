import FoundationEssentials
import Testing

@testable import CountersignEncoding

@Suite struct JSONObjectWriterTests {
  @Test(
    arguments: [
      ("", #""""#), ("a/ü😀", #""a/ü😀""#), (#"a"b\c"#, #""a\"b\\c""#),
      ("\n\u{0}\u{1F}\u{7F}", "\"\\u000a\\u0000\\u001f\u{7F}\""),
    ])
  func `Quotation marks, backslashes and control characters are escaped`(text: String, literal: String) throws {
    #expect(JSONString.quote(text) == literal)
    #expect(try JSONReader(maxBytes: 100).decode([String].self, from: "[\(literal)]") == [text])
  }

  @Test func `No text is null`() {
    #expect(JSONString.quote(nil) == "null")
    #expect(JSONString.quote(Optional("a")) == #""a""#)
  }

  @Test func `Fields are written in order, absent ones not at all`() {
    var inner = JSONObjectWriter()
    inner.put("a", false)
    var json = JSONObjectWriter(reserving: 8)
    json.put("text", "ü\"")
    json.put("absent", String?.none)
    json.put("number", -12)
    json.put("flag", true)
    json.put("object", object: inner.finished())
    json.put(named: "\"n\"", "v")
    json.put(named: "m", object: JSONObjectWriter().finished())
    json.put(named: "l", literal: "1.5")
    #expect(
      String(decoding: json.finished(), as: UTF8.self)
        == #"{"text":"ü\"","number":-12,"flag":true,"object":{"a":false},"\"n\"":"v","m":{},"l":1.5}"#)
  }
}
