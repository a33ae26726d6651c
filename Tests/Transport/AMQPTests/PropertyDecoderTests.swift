import Testing

@testable import CountersignAMQP

@Suite struct PropertyDecoderTests {
  private func read(_ bytes: [UInt8], _ decoder: inout PropertyDecoder) -> String? {
    bytes.withUnsafeBytes { decoder.text($0, "correlation_id") }
  }

  @Test func `Valid texts are read unchanged`() {
    var decoder = PropertyDecoder()
    #expect(read(Array("é🔐".utf8), &decoder) == "é🔐")
    #expect(read([], &decoder)?.isEmpty == true)
    #expect(read([0], &decoder) == "\0")
    #expect(decoder.malformed.isEmpty)
  }

  /// Put into U+FFFD, 86 of these bytes were longer than AMQP takes.
  @Test(
    arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], Array(repeating: 0xFF, count: 255)] as [[UInt8]])
  func `Properties that are not UTF-8 are absent and named`(bytes: [UInt8]) {
    var decoder = PropertyDecoder()
    #expect(read(bytes, &decoder) == nil)
    #expect(read(bytes + [0x61], &decoder) == nil)
    #expect(decoder.malformed == ["correlation_id"])
  }
}
