import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Testing

@Suite struct RecordFieldsTests {
  private enum Word: String {
    case one
  }

  @Test(arguments: [0, 1, -1, 127, 128, -128, -129, 255, 256, 65_535, .max, .min])
  func `Numbers of every size survive`(_ number: Int) throws {
    var writer = FieldWriter()
    writer.put(1, number)
    writer.put(2, UnixTime(milliseconds: Int64(number)))
    let reader = try FieldReader(writer.bytes)
    #expect(reader.number(1) == number)
    #expect(reader.time(2) == UnixTime(milliseconds: Int64(number)))
  }

  @Test func `Small numbers take few bytes`() {
    var writer = FieldWriter()
    writer.put(1, 127)
    #expect(writer.bytes.count == 4)
    writer.put(2, 128)
    #expect(writer.bytes.count == 8)
  }

  @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 70_000])
  func `Texts and bytes of every length survive`(_ length: Int) throws {
    let text = String(repeating: "é", count: length)
    var writer = FieldWriter()
    writer.put(7, text)
    writer.put(255, Array(text.utf8))
    let reader = try FieldReader(writer.bytes)
    #expect(reader.text(7) == text)
    #expect(reader.block(255) == Array(text.utf8))
  }

  @Test func `What is absent takes no room, and is nil`() throws {
    var writer = FieldWriter()
    writer.put(1, nil as String?)
    writer.put(2, nil as [UInt8]?)
    writer.put(3, nil as Int?)
    writer.put(4, nil as UnixTime?)
    writer.put(5, false)
    writer.put(6, nil as Envelope?)
    #expect(writer.bytes.count == 1)
    let reader = try FieldReader(writer.bytes)
    #expect(reader.text(1) == nil && reader.block(2) == nil && reader.number(3) == nil && reader.time(4) == nil)
    #expect(!reader.isSet(5))
    #expect(try reader.envelope(6) == nil)
    #expect(try reader.word(7, Word.self) == nil)
    #expect(throws: StoreError.self) { try reader.required(reader.text(1)) }
  }

  @Test func `Tags that are not known are passed over, and a mark is a mark`() throws {
    var writer = FieldWriter()
    writer.put(200, "later")
    writer.put(1, true)
    #expect(try FieldReader(writer.bytes).isSet(1))
  }

  @Test func `Words are words of their type`() throws {
    var writer = FieldWriter()
    writer.put(1, "one")
    writer.put(2, "two")
    let reader = try FieldReader(writer.bytes)
    #expect(try reader.word(1, Word.self) == .one)
    #expect(throws: StoreError.self) { try reader.word(2, Word.self) }
  }

  @Test func `The envelope of a waiting command survives`() throws {
    let trace = try #require(
      TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
    let full = Envelope(
      type: MessageType("note.put", version: 2), messageID: "m", correlationID: "c", replyTo: "q", userID: "u",
      trace: trace)
    let bare = Envelope(type: MessageType("note.put"), messageID: "m")
    for envelope in [full, bare] {
      var writer = FieldWriter()
      writer.put(1, envelope)
      #expect(try FieldReader(writer.bytes).envelope(1) == envelope)
    }
    var writer = FieldWriter()
    writer.put(1, [UInt8]([1]))
    let reader = try FieldReader(writer.bytes)
    #expect(throws: StoreError.self) { try reader.envelope(1) }
  }

  @Test func `A damaged body, and one of another version, is an error of the content`() throws {
    var writer = FieldWriter()
    writer.put(1, "text")
    writer.put(2, String(repeating: "x", count: 200))
    let bytes = writer.bytes
    for length in 0..<bytes.count {
      // Cut between two fields, it is a body with fewer fields.
      guard length != 1, length != 7 else { continue }
      #expect(throws: FieldReader.unreadable) { try FieldReader(Array(bytes[..<length])) }
    }
    #expect(throws: FieldReader.unreadable) { try FieldReader([2] + bytes.dropFirst()) }
    #expect(throws: FieldReader.unreadable) { try FieldReader([1, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) }
    #expect(FieldReader.unreadable.fault == .content)
  }
}
