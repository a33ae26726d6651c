import CountersignMessages
import HTTPClient
import HTTPServer
import JobEngine
import Synchronization
import TestSupport
import Testing

@testable import SMS

/// Requirements of every lane, for any provider: each answer and each fault in its class, and one request for one message.
@Suite("Every lane", .timeLimit(.minutes(10)))
struct LaneConformanceTests {
  private enum Reply: Sendable {
    case answer(HTTPServerResponse)
    case reset, close, hang
  }

  private struct Seen {
    var outcomes: [Classification]
    var requests: [String?]
  }

  private func send(
    _ provider: ProviderUnderTest, _ replies: [Reply], timeout: Duration = .patience
  ) async throws -> Seen {
    let requests = Mutex<[String?]>([])
    let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 65_536) { request in
      let problem = provider.problem(request)
      let number = requests.withLock { requests in
        requests.append(problem)
        return requests.count
      }
      switch replies[min(number, replies.count) - 1] {
      case .answer(let response): return .respond(response)
      case .reset: return .reset
      case .close: return .close
      case .hang:
        // Longer than the call may take; the server's end cancels it.
        _ = try? await Task.sleep(for: .patience)
        return .close
      }
    }
    let http = try HTTPClient()
    let lane = try provider.lane(server.port, http)
    var outcomes: [Classification] = []
    for _ in replies { outcomes.append(await lane.send(Sample.message(), Sample.attempt(timeout: timeout))) }
    await http.shutdown()
    await server.stop(grace: .zero)
    return Seen(outcomes: outcomes, requests: requests.withLock { $0 })
  }

  @Test(
    arguments: ProviderUnderTest.all)
  func `Accepted, with the provider's reference; the request is one that the provider takes`(
    provider: ProviderUnderTest
  ) async throws {
    let seen = try await send(provider, [.answer(provider.accepted)])
    #expect(seen.outcomes.map(\.short) == ["accepted \(provider.reference)"])
    #expect(seen.requests == [nil])
  }

  @Test(arguments: ProviderUnderTest.all)
  func `Refused, with the provider's code and none of its words`(provider: ProviderUnderTest) async throws {
    let seen = try await send(provider, [.answer(provider.refused)])
    guard case .refused(let reason, _) = seen.outcomes[0] else {
      return #expect(Bool(false), "\(seen.outcomes[0].short) instead of refused")
    }
    #expect(reason.providerCode != nil)
    #expect(!reason.description.contains("4155550123"))
  }

  @Test(arguments: ProviderUnderTest.all)
  func `Throttled: it surely was not sent, and may be later`(provider: ProviderUnderTest) async throws {
    let seen = try await send(provider, [.answer(provider.throttled)])
    let wait = provider.throttled.headers["Retry-After"].map { " \($0)" } ?? ""
    #expect(seen.outcomes.map(\.short) == ["retry PROVIDER_THROTTLED\(wait)"])
  }

  @Test(arguments: ProviderUnderTest.all)
  func `Bad credentials take the lane down`(provider: ProviderUnderTest) async throws {
    let seen = try await send(provider, [.answer(provider.badCredentials)])
    #expect(seen.outcomes.map(\.short) == ["laneDown PROVIDER_CREDENTIALS"])
  }

  @Test(arguments: ProviderUnderTest.all)
  func `An error of the provider's own leaves open what happened`(provider: ProviderUnderTest) async throws {
    let page = HTTPServerResponse(status: 502, contentType: "text/html", text: "<html>Bad Gateway</html>")
    let seen = try await send(provider, [.answer(provider.failed), .answer(page)])
    #expect(seen.outcomes.map(\.short) == ["unknown PROVIDER_ERROR", "unknown PROVIDER_ERROR"])
    #expect(seen.requests.count == 2)
  }

  @Test(arguments: ProviderUnderTest.all)
  func `503 with Retry-After was not processed`(provider: ProviderUnderTest) async throws {
    let answer = HTTPServerResponse(status: 503, headers: ["Retry-After": "9"])
    let seen = try await send(provider, [.answer(answer)])
    #expect(seen.outcomes.map(\.short) == ["retry PROVIDER_ERROR 9"])
  }

  @Test(arguments: ProviderUnderTest.all)
  func `A connection that ends when the request was read: unknown, and not sent again`(provider: ProviderUnderTest)
    async throws
  {
    // Also on a connection that has served before, where transports like to try again by themselves.
    for replies: [Reply] in [
      [.reset], [.close], [.answer(provider.accepted), .reset], [.answer(provider.accepted), .close],
    ] {
      let seen = try await send(provider, replies)
      #expect(seen.outcomes.last?.short == "unknown NO_ANSWER")
      #expect(seen.requests.count == replies.count)
    }
  }

  @Test(arguments: ProviderUnderTest.all)
  func `No answer in time: unknown, within the time, and not sent again`(provider: ProviderUnderTest) async throws {
    let seen = try await send(provider, [.hang], timeout: .seconds(2))
    #expect(seen.outcomes.map(\.short) == ["unknown NO_ANSWER"])
    #expect(seen.requests.count == 1)
  }

  @Test(arguments: ProviderUnderTest.all)
  func `Nobody listens: it surely was not sent`(provider: ProviderUnderTest) async throws {
    let port = try RefusingPort()
    let http = try HTTPClient()
    let lane = try provider.lane(port.number, http)
    let outcome = await lane.send(Sample.message(), Sample.attempt(timeout: .patience))
    #expect(outcome.short == "retry NOT_CONNECTED")
    port.release()
    await http.shutdown()
  }

  @Test(arguments: ProviderUnderTest.all)
  func `A redirect is not followed: the address is wrong`(provider: ProviderUnderTest) async throws {
    let answer = HTTPServerResponse(status: 302, headers: ["Location": "/elsewhere"])
    let seen = try await send(provider, [.answer(answer)])
    #expect(seen.outcomes.map(\.short) == ["laneDown PROVIDER_CONFIGURATION"])
    #expect(seen.requests.count == 1)
  }

}
