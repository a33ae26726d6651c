import CountersignMessages
import SMPP
import TestSupport
import Testing

@testable import SMS

/// Requirements of every lane (`LaneConformanceTests`), over a session instead of requests.
@Suite("Every lane: SMPP", .timeLimit(.minutes(10)))
struct SMPPConformanceTests {
  private struct Seen {
    var outcomes: [String]
    var submissions: Int
  }

  private func send(
    _ replies: [ScriptedSMSC.Reply], bindStatus: UInt32 = 0, timeout: Duration = .patience
  ) async throws -> Seen {
    let server = try ScriptedSMSC(replies, bindStatus: bindStatus)
    let outcomes = try await send(replies.count, to: server.port, timeout)
    server.stop()
    return Seen(outcomes: outcomes, submissions: server.submissions)
  }

  private func send(_ count: Int, to port: UInt16, _ timeout: Duration) async throws -> [String] {
    let (events, event) = AsyncStream<SMPPEvent>.makeStream()
    let session = SMPPSession(
      SMPPConfiguration(host: "127.0.0.1", port: port, bind: BindRequest(systemID: "acct", password: "sesame")),
      onReceipt: { _ in true }, onEvent: { event.yield($0) })
    let lane = SMPPLane(
      name: "lane",
      configuration: SMPPLaneConfiguration(
        source: ShortMessage.Address(ton: 5, npi: 0, text: "Example"), destinationTON: 1, destinationNPI: 1,
        longMessages: .udh, wantsReceipts: false),
      table: try ProviderUnderTest.table("smpp"), session: session)
    let running = Task { await session.run() }
    // The first one says whether there is a session.
    for await _ in events { break }
    var outcomes: [String] = []
    for _ in 0..<count {
      outcomes.append(await lane.send(Sample.message(), Sample.attempt(timeout: timeout)).short)
    }
    session.stop(ceiling: .zero)
    await running.value
    return outcomes
  }

  @Test func `Accepted, with the provider's reference`() async throws {
    let seen = try await send([.accept("R1")])
    #expect(seen.outcomes == ["accepted R1"])
    #expect(seen.submissions == 1)
  }

  @Test func `Refused, with the provider's code`() async throws {
    let seen = try await send([.status(0x0B)])
    #expect(seen.outcomes == ["refused INVALID_NUMBER"])
    #expect(seen.submissions == 1)
  }

  @Test(arguments: [0x58, 0x14] as [UInt32])
  func `Throttled: it surely was not sent, and may be later`(status: UInt32) async throws {
    let seen = try await send([.status(status)], timeout: .seconds(2))
    #expect(seen.outcomes.allSatisfy { $0.hasPrefix("retry PROVIDER_THROTTLED") })
  }

  @Test(arguments: [0x0D, 0x0E, 0x0F] as [UInt32])
  func `Bad credentials take the lane down`(status: UInt32) async throws {
    let seen = try await send([.accept("R1")], bindStatus: status)
    #expect(seen.outcomes == ["laneDown PROVIDER_CREDENTIALS"])
    #expect(seen.submissions == 0)
  }

  @Test func `An error of the provider's own leaves open what happened`() async throws {
    let seen = try await send([.status(0x08), .status(0xFF)])
    #expect(seen.outcomes == ["unknown PROVIDER_ERROR", "unknown PROVIDER_ERROR"])
    #expect(seen.submissions == 2)
  }

  @Test func `A connection that ends when the submission was read: unknown, and not sent again`() async throws {
    for replies: [ScriptedSMSC.Reply] in [[.reset], [.close], [.accept("R1"), .reset], [.accept("R1"), .close]] {
      let seen = try await send(replies)
      #expect(seen.outcomes.last == "unknown NO_ANSWER")
      #expect(seen.submissions == replies.count)
    }
  }

  @Test func `No answer in time: unknown, within the time, and not sent again`() async throws {
    let seen = try await send([.hang], timeout: .seconds(2))
    #expect(seen.outcomes == ["unknown NO_ANSWER"])
    #expect(seen.submissions == 1)
  }

  @Test func `Nobody listens: it surely was not sent`() async throws {
    let port = try RefusingPort()
    let outcomes = try await send(1, to: port.number, .seconds(5))
    #expect(outcomes == ["retry NOT_CONNECTED"])
    port.release()
  }
}
