import HTTPClient
import JobEngine
import SMPP
import Simulation
import Synchronization
import TestSupport
import Testing

@testable import SMS

/// The SMPP lane against the simulated server, which checks all that a careful one does.
@Suite("SMPP, simulated", .timeLimit(.minutes(10)))
struct SimulatedSMPPTests {
  private struct Given: Sendable {
    var systemID = "simulated"
    var password = "password"
    var source = ShortMessage.Address(ton: 5, npi: 0, text: "Example")
    var ton: UInt8 = 1
    var npi: UInt8 = 1
    var to = "+393471234567"
    var texts = ["482913 is your code"]
    var longMessages = SMPPLaneConfiguration.LongMessages.udh
    var wantsReceipts = false
    var fault: String?
  }

  private struct Seen {
    var outcomes: [String]
    var codes: [String?]
    var shown: String
    var receipts: [SMPPReceipt]
  }

  private func send(
    _ change: (inout Given) -> Void = { _ in }, receipts count: Int = 0,
    _ settings: (inout SMPPServerSettings) -> Void = { _ in }
  ) async throws -> Seen {
    var given = Given()
    change(&given)
    var simulated = SimulatorSettings()
    var server = SMPPServerSettings()
    settings(&server)
    simulated.smpp = server
    let simulator = try Simulator(simulated)
    let http = try HTTPClient()
    if let fault = given.fault {
      let order = HTTPRequest(
        method: "POST", url: simulator.url + "/control/faults",
        body: Array("{\"fault\":\"\(fault)\",\"provider\":\"smpp\"}".utf8), timeouts: .patient)
      #expect(try await http.send(order).status == 201)
    }
    let (events, event) = AsyncStream<SMPPEvent>.makeStream()
    let (receipts, receipt) = AsyncStream<SMPPReceipt>.makeStream()
    let session = SMPPSession(
      SMPPConfiguration(
        host: "127.0.0.1", port: try #require(simulator.smppPort),
        bind: BindRequest(systemID: given.systemID, password: given.password)),
      onReceipt: {
        receipt.yield($0)
        return true
      }, onEvent: { event.yield($0) })
    let lane = SMPPLane(
      name: "smpp",
      configuration: SMPPLaneConfiguration(
        source: given.source, destinationTON: given.ton, destinationNPI: given.npi, longMessages: given.longMessages,
        wantsReceipts: given.wantsReceipts),
      table: try ProviderUnderTest.table("smpp"), session: session)
    let running = Task { await session.run() }
    // The first one says whether there is a session.
    for await _ in events { break }
    var seen = Seen(outcomes: [], codes: [], shown: "", receipts: [])
    for text in given.texts {
      let outcome = await lane.send(
        OutgoingSMS(to: given.to, text: SMSText(text), languageCode: "en"), Sample.attempt(timeout: .patience))
      seen.outcomes.append(outcome.short)
      seen.codes.append(outcome.reason?.providerCode)
    }
    if count > 0 {
      for await one in receipts {
        seen.receipts.append(one)
        if seen.receipts.count == count { break }
      }
    }
    let shown = try await http.send(
      HTTPRequest(method: "GET", url: simulator.url + "/control/sms", timeouts: .patient))
    seen.shown = String(decoding: shown.body, as: UTF8.self)
    session.stop(ceiling: .seconds(2))
    await running.value
    await http.shutdown()
    await simulator.stop()
    return seen
  }

  @Test func `A message is taken, shown, and reported on`() async throws {
    let seen = try await send({ $0.wantsReceipts = true }, receipts: 1)
    let receipt = try #require(seen.receipts.first)
    #expect(seen.outcomes == ["accepted \(receipt.messageID)"])
    #expect(receipt.state == .delivered)
    #expect(receipt.origin?.id == "unnamed\u{1F}job-1")
    #expect(seen.shown.contains("\"body\":\"482913 is your code\""))
    #expect(seen.shown.contains("\"to\":\"+393471234567\""))
    #expect(seen.shown.contains("\"provider\":\"smpp\""))
  }

  @Test(
    arguments: [SMPPLaneConfiguration.LongMessages.udh, .payload])
  func `Texts arrive as they were written, in whatever alphabet and however they are cut`(
    longMessages: SMPPLaneConfiguration.LongMessages
  )
    async throws
  {
    let texts = [
      "Größe: 5 € [~]", "код 482913", String(repeating: "a{€", count: 100), String(repeating: "👍🏽", count: 40),
    ]
    let seen = try await send({ ($0.longMessages, $0.texts) = (longMessages, texts) })
    #expect(seen.outcomes.allSatisfy { $0.hasPrefix("accepted ") })
    for text in texts { #expect(seen.shown.contains("\"body\":\"\(text)\"")) }
  }

  @Test func `A bind with anything wrong is refused`() async throws {
    let cases: [(String, @Sendable (inout Given) -> Void)] = [
      ("0x0000000F", { $0.systemID = "another" }), ("0x0000000E", { $0.password = "wrong" }),
    ]
    for (code, change) in cases {
      let seen = try await send(change)
      #expect(seen.outcomes == ["laneDown PROVIDER_CREDENTIALS"])
      #expect(seen.codes == [code])
    }
    #expect(try await send({ _ in }, { $0.systemType = "VMA" }).codes == ["0x00000053"])
  }

  @Test func `A submission with anything wrong is refused`() async throws {
    let cases: [(String, @Sendable (inout Given) -> Void)] = [
      ("0x00000048", { $0.source = .init(ton: 0, npi: 0, text: "Example") }),
      ("0x00000049", { $0.source = .init(ton: 1, npi: 0, text: "15005550006") }),
      ("0x0000000A", { $0.source = .init(ton: 5, npi: 0, text: "much too long") }),
      ("0x00000050", { $0.ton = 0 }), ("0x00000051", { $0.npi = 0 }), ("0x0000000B", { $0.to = "+15005550001" }),
      ("0x00000066", { $0.to = "+15005550004" }),
    ]
    for (code, change) in cases {
      let seen = try await send(change)
      #expect(seen.codes == [code])
      #expect(seen.shown == "[]\n")
    }
  }

  @Test(
    arguments: [
      ("400", "refused PROVIDER_REFUSED"), ("500", "unknown PROVIDER_ERROR"), ("close", "unknown NO_ANSWER"),
      ("reset", "unknown NO_ANSWER"),
    ])
  func `It fails on demand`(fault: String, outcome: String) async throws {
    let seen = try await send({ $0.fault = fault })
    #expect(seen.outcomes == [outcome])
    #expect(seen.shown == "[]\n")
  }

  @Test func `More than the account may send is throttled, and comes through later`() async throws {
    let seen = try await send({ $0.fault = "429" })
    // The session pauses and sends it again, or gives it back.
    #expect(seen.outcomes[0].hasPrefix("accepted ") || seen.outcomes[0].hasPrefix("retry PROVIDER_THROTTLED"))
  }
}
