import CountersignTelemetry
import HTTPClient
import HTTPServer
import JobEngine
import Synchronization
import TestSupport
import Testing

@testable import SMS

@Suite("Lanes over HTTP", .timeLimit(.minutes(10)))
struct LanesOverHTTPTests {
  private enum Answer {
    case json(Int, String)
    case reset, hang
  }

  private func withTwilio(
    _ answers: [Answer], _ body: (TwilioLane) async throws -> Void
  ) async throws -> Int {
    let count = Mutex(0)
    let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 65_536) { request in
      let number = count.withLock { count in
        count += 1
        return count
      }
      switch answers[min(number, answers.count) - 1] {
      case .json(let status, let text): return .respond(HTTPServerResponse(status: status, body: Array(text.utf8)))
      case .reset: return .reset
      case .hang:
        // Longer than the call may take; the server's end cancels it.
        _ = try? await Task.sleep(for: .patience)
        return .close
      }
    }
    let transport = try HTTPClient()
    try await body(try lane(port: server.port, transport))
    await transport.shutdown()
    await server.stop(grace: .zero)
    return count.withLock { $0 }
  }

  private func lane(port: UInt16, _ transport: HTTPClient) throws -> TwilioLane {
    TwilioLane(
      TwilioConfiguration(
        baseURL: "http://127.0.0.1:\(port)", accountSID: "AC1", username: nil, sender: .number("+15005550006")),
      password: Secret("sesame"), LaneContext("a", try Shipped.table("twilio"), transport, clock: SystemClock()), nil)
  }

  @Test func `A message that is taken`() async throws {
    let requests = try await withTwilio([.json(201, #"{"sid": "SM1", "status": "queued"}"#)]) { lane in
      #expect(await lane.send(Sample.message(), Sample.attempt(timeout: .patience)).short == "accepted SM1")
    }
    #expect(requests == 1)
  }

  @Test func `A connection that ends when the request was read: unknown, and not sent again`() async throws {
    let requests = try await withTwilio([.reset]) { lane in
      #expect(await lane.send(Sample.message(), Sample.attempt(timeout: .patience)).short == "unknown NO_ANSWER")
    }
    #expect(requests == 1)
  }

  @Test func `The same on a connection that has served before, where transports like to try again by themselves`()
    async throws
  {
    let requests = try await withTwilio([.json(201, #"{"sid": "SM1", "status": "queued"}"#), .reset]) { lane in
      #expect(await lane.send(Sample.message(), Sample.attempt(timeout: .patience)).short == "accepted SM1")
      #expect(await lane.send(Sample.message(), Sample.attempt(timeout: .patience)).short == "unknown NO_ANSWER")
    }
    #expect(requests == 2)
  }

  @Test func `No answer in time: unknown, within the time`() async throws {
    let requests = try await withTwilio([.hang]) { lane in
      let clock = ContinuousClock()
      let took = await clock.measure {
        #expect(await lane.send(Sample.message(), Sample.attempt(timeout: .seconds(2))).short == "unknown NO_ANSWER")
      }
      #expect(took < .seconds(20))
    }
    #expect(requests == 1)
  }

  @Test func `Nobody listens: it surely was not sent`() async throws {
    let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 1024) { _ in .close }
    let port = server.port
    await server.stop(grace: .zero)
    let transport = try HTTPClient()
    let outcome = try await lane(port: port, transport).send(Sample.message(), Sample.attempt(timeout: .patience))
    #expect(outcome.short == "retry NOT_CONNECTED")
    await transport.shutdown()
  }
}
