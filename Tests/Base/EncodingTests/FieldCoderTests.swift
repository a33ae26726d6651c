import CountersignEncoding
import Testing

@Suite struct FieldCoderTests {
  /// A value with a field of every kind.
  struct Sample: FieldCoded, Hashable {
    enum Word: String {
      case one, two
    }

    struct Part: FieldCoded, Hashable {
      var number: Int

      init(number: Int) { self.number = number }

      init(_ fields: inout FieldCoder, _ part: Self?) throws(UnreadableFields) {
        number = try fields.required(1, part?.number)
      }
    }

    var text = ""
    var later: String?
    var block: [UInt8]?
    var number: Int?
    var isSet = false
    var word = Word.one
    var other: Word?
    var part: Part?
    var list: [Part] = []
    var json: [String: Int]?
    var end: [UInt8] = []

    init() {}

    init(_ fields: inout FieldCoder, _ sample: Self?) throws(UnreadableFields) {
      text = try fields.required(1, sample?.text)
      later = fields.optional(2, sample?.later)
      block = fields.optional(3, sample?.block)
      number = fields.optional(4, sample?.number)
      isSet = fields.flag(5, sample?.isSet)
      word = try fields.required(6, sample?.word)
      other = try fields.optional(7, sample?.other)
      part = try fields.optional(8, sample?.part)
      list = try fields.list(9, sample?.list)
      json = try fields.json(10, sample?.json)
      end = try fields.required(255, sample?.end)
    }
  }

  private var full: Sample {
    var sample = Sample()
    sample.text = String(repeating: "é", count: 200)
    sample.later = ""
    sample.block = []
    sample.number = -1
    sample.isSet = true
    sample.word = .two
    sample.other = .one
    sample.part = Sample.Part(number: 300)
    sample.list = [Sample.Part(number: 1), Sample.Part(number: 2)]
    sample.json = ["[{": 1]
    sample.end = [1, 2]
    return sample
  }

  @Test(arguments: [0, 1, -1, 127, 128, -128, -129, 255, 256, 65_535, .max, .min])
  func `Numbers of every size survive`(_ number: Int) throws {
    var sample = Sample()
    sample.number = number
    #expect(try Sample(fields: sample.fields()) == sample)
  }

  @Test func `Small numbers take few bytes`() throws {
    #expect(try Sample.Part(number: 127).fields().count == 4)
    #expect(try Sample.Part(number: 128).fields().count == 5)
  }

  @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 70_000])
  func `Texts and bytes of every length survive`(_ length: Int) throws {
    var sample = Sample()
    sample.text = String(repeating: "é", count: length)
    sample.end = Array(sample.text.utf8)
    #expect(try Sample(fields: sample.fields()) == sample)
  }

  @Test func `Values of every kind survive, and what is absent takes no room`() throws {
    #expect(try Sample(fields: full.fields()) == full)
    // The version, an empty text, a word, and no bytes.
    #expect(try Sample().fields() == [1, 1, 0, 6, 3] + Array("one".utf8) + [255, 0])
    #expect(try Sample(fields: Sample().fields()) == Sample())
  }

  @Test func `Tags that are not known are passed over, wherever they stand`() throws {
    let bytes = try full.fields()
    #expect(try Sample(fields: [1, 200, 1, 9] + bytes.dropFirst()) == full)
    #expect(try Sample(fields: bytes + [200, 1, 9]) == full)
  }

  @Test(arguments: [[1], [1, 1, 0, 6, 3, 111, 110, 101], [1, 1, 0, 6, 1, 120, 255, 0]] as [[UInt8]])
  func `A field that is absent, or a word of another version, is an error`(bytes: [UInt8]) {
    #expect(throws: UnreadableFields()) { try Sample(fields: bytes) }
  }

  /// The second one would end the decoder's process.
  @Test(arguments: ["", String(repeating: "[", count: 513), "[1]\0"])
  func `JSON that is damaged is an error`(text: String) {
    var fields = FieldCoder()
    _ = fields.optional(10, text)
    let bytes = fields.bytes
    #expect(throws: UnreadableFields()) {
      var damaged = try FieldCoder(reading: bytes)
      _ = try damaged.json(10, nil as [Int]?)
    }
  }

  @Test func `Damaged fields, and those of another version, are an error`() throws {
    let bytes = try full.fields()
    for length in 0..<bytes.count {
      #expect(throws: UnreadableFields()) { try Sample(fields: Array(bytes[..<length])) }
    }
    #expect(throws: UnreadableFields()) { try Sample(fields: [2] + bytes.dropFirst()) }
    #expect(throws: UnreadableFields()) { try Sample(fields: [1, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) }
  }

  @Test func `Arbitrary bytes do not trap`() {
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 1..<60)).map { $0 == 0 ? 1 : UInt8.random(in: 0 ... .max) }
      _ = try? Sample(fields: bytes)
    }
  }
}
