import CountersignTelemetry
import Testing

@Suite struct StringCutTests {
  @Test(
    arguments: [
      ("short", 8, "short"), ("exactly8", 8, "exactly8"), ("a longer text", 8, "a longer"), ("ééééé", 9, "éééé"),
      ("ééééé", 8, "éééé"),
      ("😀😀", 7, "😀"), ("😀😀", 3, ""), ("text", 0, ""), ("text", -1, ""), ("", 0, ""),
    ])
  func `They are cut to bytes, between Unicode scalars`(text: String, limit: Int, result: String) {
    #expect(text.cut(toBytes: limit) == result)
  }

  @Test func `One character may have any number of bytes, and is cut all the same`() {
    let zalgo = "a" + String(repeating: "\u{301}", count: 20_000)
    #expect(zalgo.count == 1)
    #expect(zalgo.cut(toBytes: 512).utf8.count == 511)
  }
}
