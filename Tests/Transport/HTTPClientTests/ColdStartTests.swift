import Glibc
import HTTPClient
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(10)))
struct ColdStartTests {
  /// As a worker has it, with the time-outs of a lane: nobody waits for handshakes until they are too late.
  @Test func `A burst without any connection is served`() async throws {
    try await Nginx.run { nginx in
      let transport = try HTTPClient(.init(maxConcurrent: 256, caFile: try nginx.systemAndOwnFile))
      let request = post(nginx.http1URL, timeouts: HTTPTimeouts(connect: .seconds(3), total: .patience))
      let failures = await withTaskGroup(of: String?.self) { group in
        for _ in 0..<256 { group.addTask { await problem(transport, request) } }
        return await group.reduce(into: [String]()) { if let problem = $1 { $0.append(problem) } }
      }
      #expect(failures == [])
      await transport.shutdown()
    }
  }

  /// The authorities are read once, not for each connection: those of a whole system cost what a single one costs.
  @Test func `The number of authorities costs nothing`() async throws {
    // A process of its own: what others use meanwhile is not counted.
    await #expect(processExitsWith: .success) {
      try await Nginx.run { nginx in
        _ = try await processorTime(of: 1, nginx, nginx.certificateFile)
        let one = try await processorTime(of: 100, nginx, nginx.certificateFile)
        let all = try await processorTime(of: 100, nginx, try nginx.systemAndOwnFile)
        print("µs of processor time a connection: \(one / 100) with one authority, \(all / 100) with the system's")
        // 12 times as much when each connection reads them.
        #expect(all < one * 3)
      }
    }
  }

  /// Of 200 requests, a server that does not shake hands sees only those that are tried. The rest end with them.
  @Test func `Only a few connections are opened at once`() async throws {
    try await withRawServer(.init(maxConcurrent: 256)) { _, peer, _ in
      peer.hang()
    } test: { server, transport in
      let url = "https://127.0.0.1:\(server.port)/"
      let request = post(url, timeouts: HTTPTimeouts(connect: .milliseconds(500), total: .patience))
      try await withThrowingTaskGroup(of: TransportError.self) { group in
        for _ in 0..<200 { group.addTask { try await failure(transport, request) } }
        for try await error in group {
          #expect(error.kind == .timedOut(.tls))
          #expect(!error.requestMayHaveLeft)
        }
      }
      // One is begun for each that has ended, until the sixteenth has.
      #expect((16..<32).contains(server.connections))
    }
  }

  /// Those that cannot be opened do not keep requests from a connection that is idle.
  @Test func `An idle connection is used meanwhile`() async throws {
    try await Nginx.run { nginx in
      let port = try #require(UInt16(nginx.http1URL.split { ":/".contains($0) }.last ?? ""))
      let configuration = HTTPClient.Configuration(maxConcurrent: 64, caFile: nginx.certificateFile)
      // Its first connection leads to nginx, the others to nothing.
      try await withRawServer(configuration) { _, peer, number in
        if number == 1 { peer.forward(to: port) } else { peer.hang() }
      } test: { server, transport in
        let request = post("https://127.0.0.1:\(server.port)/")
        _ = try await transport.send(request)
        let statuses = await withTaskGroup(of: Int?.self) { group in
          for _ in 0..<200 { group.addTask { try? await transport.send(request).status } }
          var statuses: [Int] = []
          // The last ones are those that are kept waiting.
          for await status in group {
            if let status { statuses.append(status) }
            if statuses.count == 200 - 16 { group.cancelAll() }
          }
          return statuses
        }
        #expect(statuses.count >= 200 - 16 && statuses.allSatisfy { $0 == 200 })
        #expect(server.connections == 1 + 16)
      }
    }
  }
}

private func problem(_ transport: HTTPClient, _ request: HTTPRequest) async -> String? {
  do {
    let status = try await transport.send(request).status
    return status == 200 ? nil : "\(status)"
  } catch { return error.description }
}

/// Processor time of this process for a number of connections, one for each request, in microseconds.
private func processorTime(of count: Int, _ nginx: Nginx, _ file: String) async throws -> Int {
  let transport = try HTTPClient(.init(maxConcurrent: 8, caFile: file))
  let begun = processorTime()
  try await withThrowingTaskGroup(of: Void.self) { group in
    for _ in 0..<count { group.addTask { _ = try await transport.send(post("\(nginx.http1URL)once")) } }
    try await group.waitForAll()
  }
  await transport.shutdown()
  return processorTime() - begun
}

private func processorTime() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}
