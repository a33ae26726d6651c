import Testing

@testable import Gateway

@Suite struct CallBodyTests {
  private func body(_ json: String) throws -> CallBody { try CallBody(json: Array(json.utf8)) }

  private func error(_ json: String) -> ProtocolError? {
    do throws(ProtocolError) {
      _ = try CallBody(json: Array(json.utf8))
      return nil
    } catch {
      return error
    }
  }

  @Test func `Both spellings are read`() throws {
    #expect(try body(#"{"phoneNumber": "+1"}"#).text("phoneNumber") == "+1")
    #expect(try body(#"{"phone_number": "+1"}"#).text("phoneNumber") == "+1")
    #expect(try body(#"{"i_o_s_bundle_id": "a"}"#).text("iOSBundleId") == "a")
    #expect(try body(#"{"_a": "b", "c_": "d", "e__f": "g"}"#).text("_a") == "b")
  }

  @Test func `Nothing, null and empty text are absent`() throws {
    #expect(try body("").text("a") == nil)
    #expect(try body(" \n").text("a") == nil)
    let fields = try body(#"{"a": null, "b": "", "c": {}}"#)
    #expect(try fields.text("a") == nil)
    #expect(try fields.text("b") == nil)
    #expect(try fields.anyText("b")?.isEmpty == true)
    #expect(try fields.integer("b") == nil)
    #expect(try fields.bool("b") == nil)
    #expect(try fields.enumeration("b", ["A"]) == nil)
    #expect(try fields.object("c")?.text("d") == nil)
    #expect(!fields.has("a"))
    #expect(fields.has("b"))
  }

  @Test func `Numbers are read as numbers and as text`() throws {
    let fields = try body(#"{"a": 5, "b": "5", "c": 5.0, "d": 5e0, "e": -1, "f": 9223372036854775807}"#)
    for name in ["a", "b", "c", "d"] { #expect(try fields.integer(name) == 5) }
    #expect(try fields.integer("e") == -1)
    #expect(try fields.integer("f") == .max)
  }

  @Test func `Enumerations are read as names, numbers and numbers in text`() throws {
    let names = ["UNSPECIFIED", "REFRESH_TOKEN", "ACCESS_TOKEN", "CODE"]
    let fields = try body(#"{"a": "CODE", "b": 3, "c": "3", "list": ["CODE", 1]}"#)
    for name in ["a", "b", "c"] { #expect(try fields.enumeration(name, names) == "CODE") }
    #expect(try fields.enumerations("list", names) == ["CODE", "REFRESH_TOKEN"])
    for json in [#"{"a": "code"}"#, #"{"a": 4}"#, #"{"a": -1}"#, #"{"a": true}"#, #"{"a": 1e300}"#] {
      #expect(throws: ProtocolError.self) { try body(json).enumeration("a", names) }
    }
  }

  @Test func `Booleans, lists and objects are read`() throws {
    let fields = try body(#"{"a": true, "b": "false", "c": ["x", "y"], "d": {"e_f": {"g": "h"}}}"#)
    #expect(try fields.bool("a") == true)
    #expect(try fields.bool("b") == false)
    #expect(try fields.texts("c") == ["x", "y"])
    #expect(try fields.texts("z").isEmpty)
    #expect(try fields.object("d")?.object("eF")?.text("g") == "h")
  }

  @Test func `A wrong type names the field and not the value`() throws {
    let fields = try body(#"{"a": 482913, "b": "482913x", "c": "482913", "d": {"e": [482913]}}"#)
    let wrong: [(String, () throws(ProtocolError) -> Void)] = [
      ("a", { () throws(ProtocolError) in _ = try fields.text("a") }),
      ("b", { () throws(ProtocolError) in _ = try fields.integer("b") }),
      ("b", { () throws(ProtocolError) in _ = try fields.bool("b") }),
      ("c", { () throws(ProtocolError) in _ = try fields.object("c") }),
      ("c", { () throws(ProtocolError) in _ = try fields.texts("c") }),
      ("d.e", { () throws(ProtocolError) in _ = try fields.object("d")?.texts("e") }),
    ]
    for (name, read) in wrong {
      do throws(ProtocolError) {
        try read()
        Issue.record("\(name) was read")
      } catch {
        #expect(error.status == 400)
        #expect(error.word == "INVALID_ARGUMENT")
        #expect(error.reason == "parseError")
        #expect(error.message.hasPrefix("Invalid JSON payload received. "))
        #expect(error.message.contains("'\(name)'"))
        #expect(!error.message.contains("482913"))
      }
    }
  }

  @Test func `Texts are decoded`() throws {
    let text = try body(#"{"a": "\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é"}"#).text("a")
    #expect(text == "\"\\/\u{8}\u{C}\n\r\té😀é")
  }

  @Test(
    arguments: [
      "x", "[]", "\"a\"", "1", "{", "}", "{}x", "{} {}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{a: 1}"#, #"{'a': 1}"#,
      #"{"a": 01}"#, #"{"a": 1.}"#, #"{"a": .5}"#, #"{"a": +1}"#, #"{"a": 1e}"#, #"{"a": NaN}"#, #"{"a": -}"#,
      #"{"a": tru}"#, #"{"a": "b}"#, #"{"a": "\x"}"#, #"{"a": "\u12"}"#, #"{"a": "\u00zz"}"#, #"{"a": "\ud800"}"#,
      #"{"a": "\ud800\u0041"}"#, #"{"a": "\udc00"}"#, #"{"a": "\u0000"}"#, "{\"a\": \"\n\"}", "{\"a\": \"\0\"}",
      #"{"a": 1, "a": 1}"#, #"{"a_b": 1, "aB": 1}"#, #"{"a": [1,]}"#, #"{"a": [1 2]}"#, "\u{FEFF}{}", "{/**/}",
      #"{"a": "\"#, "{\"a\": \"\\", "{\"a\": \"\\u", "{\"a\": [", "{\"a\": {", "{\"a\":-",
    ]) func `What is not JSON is refused`(json: String)
  {
    #expect(error(json)?.status == 400)
    #expect(error(json)?.reason == "parseError")
  }

  @Test func `Bytes that are not UTF-8 are refused`() {
    for bytes in [[0xFF], [0x7B, 0x22, 0xC0, 0x80, 0x22, 0x3A, 0x31, 0x7D], [0x7B, 0x22, 0xED, 0xA0, 0x80, 0x22]]
      as [[UInt8]]
    {
      #expect(throws: ProtocolError.self) { try CallBody(json: bytes) }
    }
  }

  @Test func `Depth and number of values are bounded`() {
    let deep = { (levels: Int) in
      "{\"a\":" + String(repeating: "[", count: levels) + String(repeating: "]", count: levels) + "}"
    }
    #expect(error(deep(CallLimits.maxDepth - 1)) == nil)
    #expect(error(deep(CallLimits.maxDepth)) != nil)
    #expect(error("{\"a\":" + String(repeating: "[", count: 60_000)) != nil)
    #expect(error(String(repeating: "{\"a\":", count: 10_000)) != nil)
    let wide = { (count: Int) in "{\"a\":[" + Array(repeating: "0", count: count).joined(separator: ",") + "]}" }
    #expect(error(wide(CallLimits.maxValues - 2)) == nil)
    #expect(error(wide(CallLimits.maxValues)) != nil)
    let fields = (0..<3_000).map { "\"a\($0)\":1" }.joined(separator: ",")
    #expect(error("{\(fields)}") != nil)
  }

  @Test func `Huge numbers are read as far as they are numbers`() throws {
    let fields = try body(#"{"a": 1e999999999, "b": \#(String(repeating: "9", count: 10_000)), "c": -1e-999}"#)
    for name in ["a", "b"] { #expect(throws: ProtocolError.self) { try fields.integer(name) } }
    #expect(try fields.integer("c") == 0)
  }

  @Test func `Any beginning of a body, and any changed byte, is read or refused`() {
    let sample = Array(#"{"a_b":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,null,{"c":{}}],"d":"é"}"#.utf8)
    for end in sample.indices { _ = try? CallBody(json: Array(sample[..<end])) }
    for index in sample.indices {
      for byte: UInt8 in [0, 0x22, 0x5C, 0x7B, 0x7D, 0x5B, 0x5D, 0x75, 0x80, 0xFF, 0x2D, 0x65] {
        var changed = sample
        changed[index] = byte
        _ = try? CallBody(json: changed)
      }
    }
    #expect((try? CallBody(json: sample)) != nil)
  }

  @Test func `Forms are read in both spellings; the first of two counts`() throws {
    let form = try CallBody(form: Array("grant_type=refresh_token&refreshToken=a%2Bb+c&grantType=x&&=y&z".utf8))
    #expect(try form.text("grantType") == "refresh_token")
    #expect(try form.text("refreshToken") == "a+b c")
    #expect(try form.text("z") == nil)
    #expect(throws: ProtocolError.self) { try CallBody(form: Array("a=%00".utf8)) }
    let flood = (0..<10_000).map { "f\($0)=1" }.joined(separator: "&")
    #expect(throws: ProtocolError.self) { try CallBody(form: Array(flood.utf8.prefix(60_000))) }
    #expect(throws: ProtocolError.self) { try CallBody(form: Array(repeating: UInt8(ascii: "&"), count: 1_000)) }
  }
}
