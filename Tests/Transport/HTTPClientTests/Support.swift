import HTTPClient
import TestSupport
import Testing

func withRawServer(
  _ configuration: HTTPClient.Configuration = HTTPClient.Configuration(),
  script: @escaping @Sendable (RawServer, RawServer.Peer, Int) -> Void,
  test body: (RawServer, HTTPClient) async throws -> Void
) async throws {
  let server = RawServer(script)
  defer { server.stop() }
  let transport = try HTTPClient(configuration)
  do { try await body(server, transport) } catch {
    await transport.shutdown()
    throw error
  }
  await transport.shutdown()
}

func failure(
  _ transport: HTTPClient, _ request: HTTPRequest, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> TransportError {
  do {
    let response = try await transport.send(request)
    Issue.record("answered with \(response.status)", sourceLocation: sourceLocation)
    throw CancellationError()
  } catch let error as TransportError {
    return error
  }
}

func get(_ url: String, maxResponseBytes: Int = 1_024) -> HTTPRequest {
  HTTPRequest(method: "GET", url: url, timeouts: .patient, maxResponseBytes: maxResponseBytes)
}

func post(_ url: String, timeouts: HTTPTimeouts = .patient, isIdempotent: Bool = false) -> HTTPRequest {
  HTTPRequest(
    method: "POST", url: url, headers: ["Content-Type": "text/plain"], body: Array("hello".utf8), timeouts: timeouts,
    isIdempotent: isIdempotent)
}
