import CountersignMessages
import CountersignTelemetry
import JobEngine
import SMPP
import Synchronization
import Testing

@testable import SMS

/// A session that answers with what it was given, one a submission, and keeps what it was asked to submit.
private final class FakeSession: SMPPSubmitting {
  let status: SMPPStatus
  private let answers: [Result<String?, SMPPError>]
  private let received = Mutex<[(message: ShortMessage, isPatient: Bool, origin: MessageOrigin?)]>([])

  init(_ answers: [Result<String?, SMPPError>] = [], status: SMPPStatus = .bound) {
    self.answers = answers
    self.status = status
  }

  var messages: [ShortMessage] { received.withLock { $0.map(\.message) } }
  var patience: [Bool] { received.withLock { $0.map(\.isPatient) } }

  var origins: [MessageOrigin?] { received.withLock { $0.map(\.origin) } }

  func submit(_ message: ShortMessage, timeout: Duration, isPatient: Bool, origin: MessageOrigin?)
    async throws(SMPPError) -> String?
  {
    let number = received.withLock { received in
      received.append((message, isPatient, origin))
      return received.count
    }
    return try answers[min(number, answers.count) - 1].get()
  }
}

@Suite struct SMPPLaneTests {
  private static let table = Result { try Shipped.table("smpp") }

  private func lane(
    _ session: FakeSession, _ longMessages: SMPPLaneConfiguration.LongMessages = .udh,
    _ alphabet: SMPPAlphabet = .gsm7
  ) throws -> SMPPLane {
    let from = SMPPAddressing(of: "Example")
    return SMPPLane(
      name: "smpp",
      configuration: SMPPLaneConfiguration(
        source: ShortMessage.Address(ton: from.ton, npi: from.npi, text: from.text), destinationTON: 1,
        destinationNPI: 1, longMessages: longMessages, wantsReceipts: true, alphabet: alphabet),
      table: try Self.table.get(), session: session)
  }

  private func status(_ code: UInt32) -> Result<String?, SMPPError> {
    .failure(SMPPError(.refused(CommandStatus(rawValue: code)), "x"))
  }

  private static let long = String(repeating: "a", count: 320)

  @Test func `A message of one segment`() async throws {
    let session = FakeSession([.success("id-1")])
    #expect(try await lane(session).send(Sample.message("Größe {1}"), Sample.attempt()).short == "accepted id-1")
    let message = try #require(session.messages.first)
    #expect(message.source == ShortMessage.Address(ton: 5, npi: 0, text: "Example"))
    #expect(message.destination == ShortMessage.Address(ton: 1, npi: 1, text: "14155550123"))
    #expect(message.dataCoding == 0)
    #expect(message.validity == .seconds(300))
    #expect(message.wantsReceipt)
    #expect(session.origins == [MessageOrigin(id: "unnamed\u{1F}job-1")])
    // One octet for each septet; the braces are escaped.
    #expect(message.content == .whole([0x47, 0x72, 0x7C, 0x1E, 0x65, 0x20, 0x1B, 0x28, 0x31, 0x1B, 0x29]))
  }

  @Test func `A text beyond the alphabet is UCS-2, with its surrogate pairs`() async throws {
    let session = FakeSession([.success(nil)])
    #expect(try await lane(session).send(Sample.message("あ😀"), Sample.attempt()).short == "accepted -")
    #expect(session.messages.first?.dataCoding == 8)
    #expect(session.messages.first?.content == .whole([0x30, 0x42, 0xD8, 0x3D, 0xDE, 0x00]))
  }

  @Test(
    arguments: [
      (SMPPAlphabet.latin1, "@$_ü{", 0 as UInt8, [0x40, 0x24, 0x5F, 0xFC, 0x7B] as [UInt8]),
      (.latin1, "Ω", 8, [0x03, 0xA9]), (.latin1, "€", 8, [0x20, 0xAC]), (.ascii, "@$_", 0, [0x40, 0x24, 0x5F]),
      (.ascii, "ü", 8, [0x00, 0xFC]), (.gsm7, "@$_", 0, [0x00, 0x02, 0x11]),
    ])
  func `A server with another default alphabet gets its own octets, and UCS-2 for what that has not`(
    alphabet: SMPPAlphabet, text: String, coding: UInt8, octets: [UInt8]
  ) async throws {
    let session = FakeSession([.success("1")])
    _ = try await lane(session, .udh, alphabet).send(Sample.message(text), Sample.attempt())
    #expect(session.messages.map(\.dataCoding) == [coding])
    #expect(session.messages.map(\.content) == [.whole(octets)])
  }

  @Test func `A longer text that turns into UCS-2 is cut as such, and the result says so`() async throws {
    let session = FakeSession([.success("1"), .success("2"), .success("3")])
    let text = String(repeating: "ü", count: 140)
    let answer = try await lane(session, .udh, .ascii).send(Sample.message(text), Sample.attempt())
    #expect(session.messages.count == 3)
    guard case .accepted(_, let extras) = answer else { return #expect(Bool(false), "\(answer)") }
    #expect(extras == ["segments": 3, "encoding": "ucs2"])
  }

  @Test func `National language tables are named in the header of every segment`() async throws {
    let shift = NationalShift(locking: nil, single: .turkish)
    for (text, count) in [("kodunuz: ş", 1), (String(repeating: "ş", count: 100), 2)] {
      let session = FakeSession([.success("1")])
      let message = OutgoingSMS(
        to: "+14155550123", text: try #require(SMSText(text, shift)), languageCode: "tr")
      _ = try await lane(session).send(message, Sample.attempt())
      #expect(session.messages.count == count)
      for message in session.messages {
        #expect(message.dataCoding == 0)
        switch message.content {
        case .headed(let elements, let octets):
          #expect(count == 1 && elements == [0x24, 1, 1] && octets.suffix(2) == [0x1B, 0x73])
        case .part(let header, let octets):
          #expect(count == 2 && header.elements == [0x24, 1, 1] && octets.count <= 149)
        case .whole, .payload: Issue.record("no header")
        }
      }
    }
  }

  @Test func `A longer message is cut into segments; the last one's ID is its reference, and its receipt is asked for`()
    async throws
  {
    let session = FakeSession([.success("1"), .success("2"), .success("3")])
    #expect(try await lane(session).send(Sample.message(Self.long), Sample.attempt()).short == "accepted 3")
    let parts = session.messages.compactMap { message -> (ShortMessage.Concatenation, Int)? in
      if case .part(let header, let octets) = message.content { (header, octets.count) } else { nil }
    }
    #expect(parts.map(\.0.number) == [1, 2, 3])
    #expect(parts.allSatisfy { $0.0.total == 3 && $0.0.reference == parts[0].0.reference })
    #expect(parts.map(\.1) == [153, 153, 14])
    #expect(session.messages.map(\.wantsReceipt) == [false, false, true])
    #expect(session.patience == [false, true, true])
  }

  @Test(
    arguments: [
      String(repeating: "€", count: 81), String(repeating: "😀", count: 36), String(repeating: "👍🏽", count: 20),
    ])
  func `No escape sequence, surrogate pair or grapheme is cut in two`(_ text: String) async throws {
    let session = FakeSession([.success("1")])
    _ = try await lane(session).send(Sample.message(text), Sample.attempt())
    #expect(session.messages.count == 2)
    for message in session.messages {
      guard case .part(_, let octets) = message.content else {
        Issue.record("no segment")
        continue
      }
      if message.dataCoding == 0 {
        #expect(octets.count <= 153)
        #expect(octets.last != 0x1B)
      } else {
        #expect(octets.count <= 134)
        let high = octets[octets.count - 2]
        #expect(!(0xD8...0xDB).contains(high))
        let units = stride(from: 0, to: octets.count, by: 2).map { UInt16(octets[$0]) << 8 | UInt16(octets[$0 + 1]) }
        #expect(String(decoding: units, as: UTF16.self).allSatisfy { text.contains($0) })
      }
    }
  }

  @Test func `A longer message as a payload`() async throws {
    let session = FakeSession([.success("1")])
    #expect(try await lane(session, .payload).send(Sample.message(Self.long), Sample.attempt()).short == "accepted 1")
    #expect(session.messages.map(\.content) == [.payload([UInt8](repeating: 0x61, count: 320))])
    _ = try await lane(session, .payload).send(Sample.message("short"), Sample.attempt())
    #expect(session.messages.last?.content == .whole(Array("short".utf8)))
  }

  @Test func `Further messages have further references`() async throws {
    let session = FakeSession([.success("1")])
    let lane = try lane(session)
    for _ in 0..<2 { _ = await lane.send(Sample.message(Self.long), Sample.attempt()) }
    let references = session.messages.compactMap { message -> UInt8? in
      if case .part(let header, _) = message.content { header.reference } else { nil }
    }
    #expect(references[3] == references[0] &+ 1)
  }

  @Test func `With less than a second left nothing is submitted`() async throws {
    let session = FakeSession([.success("1")])
    let outcome = try await lane(session).send(Sample.message(), Sample.attempt(secondsLeft: 0))
    #expect(outcome.short == "tooLate DEADLINE_TOO_NEAR")
    #expect(session.messages.isEmpty)
  }

  @Test(
    arguments: [
      (0x58, "retry PROVIDER_THROTTLED"), (0x14, "retry PROVIDER_THROTTLED"), (0x64, "retry PROVIDER_BUSY"),
      (0x08, "unknown PROVIDER_ERROR"), (0x45, "unknown PROVIDER_ERROR"),
      (0x0B, "refused INVALID_NUMBER"), (0x01, "refused INVALID_TEXT"), (0x62, "refused VALIDITY_TOO_SHORT"),
      (0x65, "refused PROVIDER_REFUSED"), (0x66, "refused PROVIDER_REFUSED"),
      (0x0A, "otherLane PROVIDER_CONFIGURATION"), (0x50, "otherLane PROVIDER_CONFIGURATION"),
      (0x51, "otherLane PROVIDER_CONFIGURATION"),
      (0x0E, "laneDown PROVIDER_CREDENTIALS"), (0x0F, "laneDown PROVIDER_CREDENTIALS"),
      (0x0D, "laneDown PROVIDER_CREDENTIALS"), (0x05, "laneDown PROVIDER_ACCOUNT"),
      (0x04, "laneDown PROVIDER_CONFIGURATION"),
      // A vendor's own.
      (0x0401, "otherLane PROVIDER_REFUSED"),
    ] as [(UInt32, String)])
  func `Statuses`(_ code: UInt32, _ outcome: String) async throws {
    let session = FakeSession([status(code)])
    let classification = try await lane(session).send(Sample.message(), Sample.attempt())
    #expect(classification.short == outcome)
    #expect(classification.reason?.providerCode == CommandStatus(rawValue: code).description)
    #expect(session.messages.count == 1)
  }

  static let failures: [(SMPPError, String)] = [
    (SMPPError(.notConnected, "x"), "retry NOT_CONNECTED"),
    (SMPPError(.tls, "x"), "retry NOT_CONNECTED"),
    (SMPPError(.connectionLost, mayHaveBeenTaken: true, "x"), "unknown NO_ANSWER"),
    (SMPPError(.connectionLost, "x"), "retry NOT_CONNECTED"),
    (SMPPError(.timedOut, mayHaveBeenTaken: true, "x"), "unknown NO_ANSWER"),
    (SMPPError(.timedOut, "x"), "retry LANE_BUSY"),
    (SMPPError(.canceled, mayHaveBeenTaken: true, "x"), "unknown NO_ANSWER"),
    (SMPPError(.throttled(.seconds(2)), "x"), "retry PROVIDER_THROTTLED 2"),
    (SMPPError(.overloaded, "x"), "busy LANE_BUSY"),
    (SMPPError(.bindRefused(.invalidPassword), "x"), "laneDown PROVIDER_CREDENTIALS"),
    (SMPPError(.bindRefused(CommandStatus(rawValue: 8)), "x"), "retry NOT_CONNECTED"),
    (SMPPError(.invalidMessage, "x"), "impossible INVALID_MESSAGE"),
  ]

  @Test(arguments: failures)
  func `No answer`(_ error: SMPPError, _ outcome: String) async throws {
    let session = FakeSession([.failure(error)])
    #expect(try await lane(session).send(Sample.message(Self.long), Sample.attempt()).short == outcome)
    #expect(session.messages.count == 1)
  }

  @Test(
    arguments: failures.map(\.0)
      + [0x58, 0x08, 0x0B, 0x0A, 0x0E, 0x0401].map {
        SMPPError(.refused(CommandStatus(rawValue: $0)), "x")
      })
  func `Once a segment was taken the message never goes again by itself`(_ error: SMPPError) async throws {
    let session = FakeSession([.success("1"), .failure(error)])
    let outcome = try await lane(session).send(Sample.message(Self.long), Sample.attempt())
    #expect(["refused PARTLY_TAKEN", "unknown PARTLY_TAKEN"].contains(outcome.short))
    #expect(outcome.reason?.detail.hasPrefix("1 of 3 segments") == true)
    #expect(session.messages.count == 2)
  }

  @Test func `A refusal of a later segment is final, everything else leaves open whether the rest follows`()
    async throws
  {
    let refused = FakeSession([.success("1"), status(0x0B)])
    #expect(
      try await lane(refused).send(Sample.message(Self.long), Sample.attempt()).short == "refused PARTLY_TAKEN")
    let throttled = FakeSession([.success("1"), status(0x58)])
    #expect(
      try await lane(throttled).send(Sample.message(Self.long), Sample.attempt()).short == "unknown PARTLY_TAKEN")
  }

  @Test func `The session tells whether the lane works`() async throws {
    #expect(try await lane(FakeSession(status: .bound)).probe() == .up)
    for status in [SMPPStatus.connecting, .stopped] {
      guard case .down(let reason) = try await lane(FakeSession(status: status)).probe() else {
        Issue.record("up")
        continue
      }
      #expect(reason.code == "NOT_CONNECTED")
    }
    let refused = FakeSession(status: .waiting(SMPPError(.bindRefused(.invalidPassword), "x")))
    guard case .down(let reason) = try await lane(refused).probe() else { return #expect(Bool(false), "up") }
    #expect(reason.code == "PROVIDER_CREDENTIALS")
    #expect(reason.providerCode == "0x0000000E")
  }

  @Test(
    arguments: [("+15005550006", 1, 1, "15005550006"), ("12345", 3, 0, "12345"), ("Example", 5, 0, "Example")]
      as [(String, UInt8, UInt8, String)])
  func `Senders`(_ from: String, _ ton: UInt8, _ npi: UInt8, _ text: String) {
    let addressing = SMPPAddressing(of: from)
    #expect(addressing.ton == ton)
    #expect(addressing.npi == npi)
    #expect(addressing.text == text)
  }

  @Test(
    arguments: [
      (MessageState.enroute, SessionReport.State.pending, nil), (.accepted, .pending, nil),
      (.delivered, .delivered, nil), (.unknown, .unknown, nil), (.expired, .undelivered, "UNREACHABLE"),
      (.deleted, .undelivered, "UNDELIVERABLE"), (.undeliverable, .undelivered, "UNDELIVERABLE"),
      (.rejected, .undelivered, "BLOCKED"),
    ] as [(MessageState, SessionReport.State, String?)])
  func `Statuses of receipts map to outcomes`(_ state: MessageState, _ expected: SessionReport.State, _ reason: String?)
  {
    let receipt = SessionReport(
      SMPPReceipt(
        messageID: "1", state: state, errorCode: "011", origin: MessageOrigin(id: "job-1", correlationID: "c")),
      lane: "smpp", at: Sample.now)
    #expect(receipt.lane == "smpp")
    #expect(receipt.reference == "1")
    #expect(receipt.job == MessageIdentity(key: "job-1"))
    #expect(receipt.correlationID == "c")
    #expect(receipt.state == expected)
    #expect(receipt.providerCode == "011")
    #expect(receipt.reason?.code == reason)
    #expect(receipt.at == Sample.now)
  }
}
