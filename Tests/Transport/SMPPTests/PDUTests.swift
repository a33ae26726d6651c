import TestSupport
import Testing

@testable import SMPP

@Suite struct PDUTests {
  @Test func `A bind`() throws {
    let bytes = try PDUWriter.write(
      .bindTransceiver(BindRequest(systemID: "esme", password: "sesame", systemType: "x")), sequence: 1)
    #expect(
      bytes
        == Sample.pdu(
          0x09, sequence: 1, Array("esme\0sesame\0x\0".utf8) + [0x34, 0, 0, 0]))
  }

  @Test func `A message of one segment`() throws {
    var message = Sample.message()
    message.validity = .seconds(90_061)
    message.wantsReceipt = true
    let bytes = try PDUWriter.write(.submit(message), sequence: 0x7FFF_FFFF)
    #expect(
      bytes
        == Sample.pdu(
          0x04, sequence: 0x7FFF_FFFF,
          [0, 5, 0] + Array("Example\0".utf8) + [1, 1] + Array("14155550123\0".utf8) + [0, 0, 0, 0]
            + Array("000001010101000R\0".utf8) + [1, 0, 0, 0, 5] + Array("hello".utf8)))
  }

  @Test func `A segment has a user data header, and says so`() throws {
    let header = ShortMessage.Concatenation(reference: 0xAB, total: 3, number: 2)
    let bytes = try PDUWriter.write(.submit(Sample.message(.part(header, [1, 2]))), sequence: 1)
    #expect(bytes.suffix(9) == [8, 5, 0, 3, 0xAB, 3, 2, 1, 2])
    // Behind service type, source and destination.
    #expect(bytes[16 + 1 + 10 + 14] == 0x40)
  }

  @Test func `Further information elements stand in the header, with and without a segment's number`() throws {
    let header = ShortMessage.Concatenation(reference: 1, total: 2, number: 1, elements: [0x24, 1, 1])
    let part = try PDUWriter.write(.submit(Sample.message(.part(header, [9]))), sequence: 1)
    #expect(part.suffix(11) == [10, 8, 0, 3, 1, 2, 1, 0x24, 1, 1, 9])
    let alone = try PDUWriter.write(.submit(Sample.message(.headed([0x25, 1, 1], [9]))), sequence: 1)
    #expect(alone.suffix(6) == [5, 3, 0x25, 1, 1, 9])
    for bytes in [part, alone] { #expect(bytes[16 + 1 + 10 + 14] == 0x40) }
  }

  @Test func `A payload is an optional parameter, also one that is longer than libsmpp34 writes`() throws {
    let text = [UInt8](repeating: 0x41, count: 1600)
    let bytes = try PDUWriter.write(.submit(Sample.message(.payload(text))), sequence: 1)
    #expect(bytes.suffix(1605) == [0, 0x04, 0x24, 0x06, 0x40] + text)
    #expect(bytes.prefix(4) == [0, 0, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)])
  }

  @Test func `A value that exceeds its field is refused and not cut`() {
    var message = Sample.message()
    message.destination.text = String(repeating: "1", count: 21)
    #expect(throws: SMPPError.self) { try PDUWriter.write(.submit(message), sequence: 1) }
    #expect(throws: SMPPError.self) {
      try PDUWriter.write(.submit(Sample.message(.whole([UInt8](repeating: 1, count: 254)))), sequence: 1)
    }
    #expect(throws: SMPPError.self) {
      try PDUWriter.write(
        .bindTransceiver(BindRequest(systemID: "e", password: String(repeating: "p", count: 65))), sequence: 1)
    }
  }

  @Test func `A password that is longer than the protocol has room for stands whole in its place`() throws {
    let short = try PDUWriter.write(
      .bindTransceiver(BindRequest(systemID: "esme", password: "", systemType: "x")), sequence: 7)
    let long = try PDUWriter.write(
      .bindTransceiver(BindRequest(systemID: "esme", password: "a longer one", systemType: "x")), sequence: 7)
    #expect(Array(long[4...]) == Array(short[4..<21]) + Array("a longer one".utf8) + Array(short[21...]))
    #expect(Array(long[..<4]) == [0, 0, 0, UInt8(long.count)])
  }

  @Test(
    arguments: [
      (OutgoingPDU.enquireLink, 0x15 as UInt32, 0 as UInt32), (.enquireLinkResponse, 0x8000_0015, 0),
      (.unbind, 6, 0), (.unbindResponse, 0x8000_0006, 0),
      (.genericNack(.invalidCommandID), 0x8000_0000, 3),
    ])
  func `PDUs without fields`(_ pdu: OutgoingPDU, _ command: UInt32, _ status: UInt32) throws {
    #expect(try PDUWriter.write(pdu, sequence: 7) == Sample.pdu(command, status: status, sequence: 7))
  }

  @Test func `The answer to a receipt`() throws {
    #expect(
      try PDUWriter.write(.deliverResponse(.temporaryReceiverError), sequence: 7)
        == Sample.pdu(0x8000_0005, status: 0x64, sequence: 7, [0]))
  }

  @Test func `PDUs are cut out of what comes, however it is cut up`() throws {
    let first = Sample.pdu(0x8000_0004, sequence: 1, Array("abc\0".utf8))
    let bytes = first + Sample.pdu(0x15, sequence: 2)
    for cut in 0...bytes.count {
      var reader = FrameReader()
      var frames: [Frame] = []
      for piece in [bytes[..<cut], bytes[cut...]] {
        reader.append(piece)
        while let frame = try reader.next() { frames.append(frame) }
      }
      #expect(frames.map(\.sequence) == [1, 2])
      #expect(frames.first.map { IncomingPDU($0) } == .submitResponse(.ok, messageID: "abc"))
    }
  }

  @Test(arguments: [0, 15, 0x1_1001, 0xFFFF_FFFF])
  func `Lengths that cannot be end the connection before anything is kept`(_ length: UInt32) {
    var reader = FrameReader()
    reader.append(withUnsafeBytes(of: length.bigEndian, Array.init) + [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 9])
    #expect(throws: FrameReader.BadLength.self) { try reader.next() }
  }

  private static let commands: [UInt32] = [
    CommandID.submitResponse, CommandID.deliver, CommandID.bindTransceiverResponse, CommandID.enquireLink, 0x103,
    CommandID.genericNack,
  ]

  @Test(arguments: [1 as UInt64, 2, 3])
  func `A PDU is decoded from its own bytes only`(seed: UInt64) {
    var random = SplitMix(state: seed)
    for _ in 0..<1000 {
      // Half of them are damaged receipts, which get further than noise.
      var body =
        Bool.random(using: &random)
        ? random.bytes(0...80)
        : Sample.delivery("id:1 stat:DELIVRD", parameters: [(0x001E, random.bytes(0...9)), (0x0427, [2])])
      for _ in 0..<Int.random(in: 0...3, using: &random) where !body.isEmpty {
        body[Int.random(in: body.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let alone = body[...]
      let followed = (body + random.bytes(1...80)).prefix(body.count)
      for command in Self.commands {
        let pdus = [alone, followed].map {
          IncomingPDU(Frame(command: command, status: .ok, sequence: 1, body: $0))
        }
        #expect(pdus[0] == pdus[1], "\(body)")
        guard case .deliver(let message) = pdus[0] else { continue }
        #expect(message.text.count <= body.count)
        if let receipt = SMPPReceipt(message, .same) { #expect((1...64).contains(receipt.messageID.utf8.count)) }
      }
    }
  }

  @Test(
    arguments: [1 as UInt64, 2, 3])
  func `Whatever comes, in whatever pieces: the same PDUs or the same end, and none longer than what came`(seed: UInt64)
  {
    var random = SplitMix(state: seed)
    for _ in 0..<300 {
      var stream: [UInt8] = []
      for sequence in 1...UInt32.random(in: 1...6, using: &random) {
        stream += Sample.pdu(0x05, sequence: sequence, random.bytes(0...40))
      }
      if Bool.random(using: &random) { stream += random.bytes(1...40) }
      let whole = Self.frames(of: [stream[...]])
      var pieces: [ArraySlice<UInt8>] = []
      var rest = stream[...]
      while !rest.isEmpty {
        pieces.append(rest.prefix(Int.random(in: 1...20, using: &random)))
        rest = rest.dropFirst(pieces[pieces.count - 1].count)
      }
      let cut = Self.frames(of: pieces)
      #expect(cut.frames == whole.frames && cut.isBroken == whole.isBroken)
      #expect(whole.frames.reduce(0) { $0 + FrameReader.headerBytes + $1.body.count } <= stream.count)
    }
  }

  private static func frames(of pieces: [ArraySlice<UInt8>]) -> (frames: [Frame], isBroken: Bool) {
    var reader = FrameReader()
    var frames: [Frame] = []
    for piece in pieces {
      reader.append(piece)
      do {
        while let frame = try reader.next() { frames.append(frame) }
      } catch {
        return (frames, true)
      }
    }
    return (frames, false)
  }

  @Test(arguments: [1 as UInt64, 2, 3])
  func `A message that is written is read back as it was`(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    for sequence in 1...300 as ClosedRange<UInt32> {
      let isPayload = Bool.random(using: &random)
      let text = random.bytes(isPayload ? 1...2000 : 1...253)
      var message = Sample.message(isPayload ? .payload(text) : .whole(text))
      message.dataCoding = UInt8.random(in: 0...255, using: &random)
      message.validity = Bool.random(using: &random) ? .seconds(Int.random(in: 1...1_000_000, using: &random)) : nil
      var reader = FrameReader()
      reader.append(try PDUWriter.write(.submit(message), sequence: sequence))
      let frame = try #require(try reader.next())
      #expect(frame.command == CommandID.submit && frame.sequence == sequence && frame.status == .ok)
      // submit_sm and deliver_sm have the same fields (SMPP 3.4, 4.4.1 and 4.6.1).
      let read = try #require(Sample.delivered(Array(frame.body)))
      #expect(Array(read.text) == text && read.dataCoding == message.dataCoding && read.esmClass == 0)
      #expect(try reader.next() == nil)
    }
  }

  @Test func `A delivery that is cut short anywhere is malformed or has fewer parameters, and is never read beyond`() {
    let body = Sample.delivery("id:1 stat:DELIVRD", parameters: [(0x001E, Array("1\0".utf8)), (0x0427, [2])])
    for length in 0..<body.count {
      let pdu = IncomingPDU(Frame(command: 5, status: .ok, sequence: 1, body: body[..<length]))
      if length < body.count - 11 { #expect(pdu == .malformed) }
    }
  }

  @Test(
    arguments: [
      ([UInt8]("abc\0".utf8), "abc" as String?), ([UInt8]("abc".utf8), "abc"), ([], nil), ([0], nil),
      ([UInt8](repeating: 0x41, count: 65), nil), ([0x41, 0x0A, 0x42, 0], nil), ([0xFF, 0], nil),
    ])
  func `Message IDs of responses`(_ body: [UInt8], _ id: String?) {
    let frame = Frame(command: 0x8000_0004, status: .ok, sequence: 1, body: body[...])
    #expect(IncomingPDU(frame) == .submitResponse(.ok, messageID: id))
  }

  @Test func `Many optional parameters, which libsmpp34 would note beyond the end of its notes`() throws {
    let parameters = (0..<5000).map { (UInt16($0), [UInt8]()) }
    let message = try #require(
      Sample.delivered(Sample.delivery("x", parameters: [(0x0427, [2])] + parameters)))
    #expect(message[0x0427] == [2])
    #expect(message[4999] == nil)
  }
}
