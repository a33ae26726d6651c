import Testing

@testable import CountersignAMQP

struct FrameAssemblerTests {
  private let start = FrameAssembler.Start.delivery(
    consumer: "c", number: 7, isRedelivered: true, exchange: "e", routingKey: "k")

  private func append(_ bytes: [UInt8], to assembler: inout FrameAssembler) throws -> FrameAssembler.Content? {
    // A closure that throws a typed error cannot be passed to `withUnsafeBytes` together with an inout.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    return try assembler.body(UnsafeRawBufferPointer(copy))
  }

  @Test func `A message of several frames`() throws {
    var assembler = FrameAssembler(maxBodyBytes: 100)
    for round in 0..<2 {
      try assembler.begin(start)
      #expect(try assembler.header(Message(messageID: "m\(round)"), bodyBytes: 5) == nil)
      #expect(try append([1, 2], to: &assembler) == nil)
      #expect(try append([], to: &assembler) == nil)
      let content = try #require(try append([3, 4, 5], to: &assembler))
      #expect(content.start == start)
      #expect(content.message == Message(messageID: "m\(round)", body: [1, 2, 3, 4, 5]))
      #expect(content.bodyBytes == 5 && !content.isOversize)
    }
  }

  @Test func `An empty body has no frame`() throws {
    var assembler = FrameAssembler(maxBodyBytes: 100)
    try assembler.begin(start)
    let content = try assembler.header(Message(messageID: "m"), bodyBytes: 0)
    #expect(content?.message == Message(messageID: "m"))
    try assembler.begin(start)
  }

  @Test func `Abody beyond the limit is read and not kept`() throws {
    var assembler = FrameAssembler(maxBodyBytes: 4)
    try assembler.begin(start)
    #expect(try assembler.header(Message(), bodyBytes: 5) == nil)
    #expect(try append([1, 2, 3], to: &assembler) == nil)
    let content = try #require(try append([4, 5], to: &assembler))
    #expect(content.message.body.isEmpty)
    #expect(content.isOversize && content.bodyBytes == 5)
    try assembler.begin(start)
    #expect(try assembler.header(Message(), bodyBytes: 4) == nil)
    let fitting = try append([1, 2, 3, 4], to: &assembler)
    #expect(fitting?.message.body == [1, 2, 3, 4])
    #expect(fitting?.isOversize == false)
  }

  @Test func `A size that is a lie reserves nothing`() throws {
    var assembler = FrameAssembler(maxBodyBytes: 4)
    try assembler.begin(start)
    #expect(try assembler.header(Message(), bodyBytes: .max) == nil)
  }

  @Test func `Frames out of order are a violation`() throws {
    var assembler = FrameAssembler(maxBodyBytes: 4)
    #expect(throws: AMQPError.self) { try assembler.header(Message(), bodyBytes: 1) }
    #expect(throws: AMQPError.self) { try append([1], to: &assembler) }
    try assembler.begin(start)
    #expect(throws: AMQPError.self) { try assembler.begin(start) }
    #expect(throws: AMQPError.self) { try append([1], to: &assembler) }
    _ = try assembler.header(Message(), bodyBytes: 2)
    let error = #expect(throws: AMQPError.self) { try append([1, 2, 3], to: &assembler) }
    #expect(error?.code == .protocolViolation)
  }
}
