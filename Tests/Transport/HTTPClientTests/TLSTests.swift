import HTTPClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct TLSTests {
  private func send(
    _ request: HTTPRequest, _ configuration: HTTPClient.Configuration
  ) async throws -> HTTPResponse {
    let transport = try HTTPClient(configuration)
    return try await transport.send(request)
  }

  @Test func `Version is negotiated`() async throws {
    try await Nginx.run { nginx in
      let once = post(nginx.http2URL)
      let repeatable = post(nginx.http2URL, isIdempotent: true)
      let cases: [(HTTPRequest, HTTPClient.Configuration.Version, HTTPResponse.Version)] = [
        (repeatable, .http2, .http2), (once, .http2, .http2), (post(nginx.http1URL), .http2, .http11),
        (repeatable, .http1, .http11), (once, .http1, .http11),
      ]
      for (request, wanted, expected) in cases {
        let response = try await send(request, .init(caFile: nginx.certificateFile, version: wanted))
        #expect(response.version == expected)
      }
    }
  }

  @Test func `Unknown authority is refused`() async throws {
    try await Nginx.run { nginx in
      let transport = try HTTPClient()
      let error = try await failure(transport, post(nginx.http2URL))
      #expect(error.kind == .certificate)
      #expect(!error.requestMayHaveLeft)
      #expect(error.description.contains("certificate"))
    }
  }

  @Test func `Other name is refused`() async throws {
    try await Nginx.run { nginx in
      let transport = try HTTPClient(.init(caFile: nginx.otherCertificateFile))
      let error = try await failure(transport, post(nginx.otherURL))
      #expect(error.kind == .certificate)
      #expect(!error.requestMayHaveLeft)
    }
  }

  @Test func `Client certificate is shown`() async throws {
    try await Nginx.run { nginx in
      var configuration = HTTPClient.Configuration(caFile: nginx.certificateFile)
      let without = try await send(post(nginx.mutualURL), configuration)
      #expect(without.status == 400)
      configuration.clientCertificate = HTTPClient.Configuration.ClientCertificate(
        file: nginx.certificateFile, keyFile: nginx.keyFile)
      let with = try await send(post(nginx.mutualURL), configuration)
      #expect(with.status == 200)
    }
  }

  /// The server ends each HTTP/2 connection with GOAWAY after 100 requests. The streams it refuses go to the next one.
  @Test func `Many streams on few connections`() async throws {
    try await Nginx.run { nginx in
      let transport = try HTTPClient(
        .init(maxConcurrent: 64, pool: .init(maxPerHost: 2), caFile: nginx.certificateFile, version: .http2))
      let answered = await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<1_000 {
          group.addTask {
            do {
              return try await transport.send(post(nginx.http2URL, isIdempotent: true)).version == .http2
            } catch {
              // libcurl 7.88 ends a stream now and then with CURLE_HTTP2, and says that the request may have left.
              #expect((error as? TransportError)?.requestMayHaveLeft == true)
              return false
            }
          }
        }
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(answered >= 990)
      await transport.shutdown()
    }
  }

  /// Repeatable and unrepeatable requests do not interfere: libcurl once mixed up their answers.
  @Test(arguments: HTTPClient.Configuration.Version.allCases)
  func `Every request gets its own answer`(version: HTTPClient.Configuration.Version) async throws {
    try await Nginx.run { nginx in
      let transport = try HTTPClient(
        .init(maxConcurrent: 64, caFile: nginx.certificateFile, version: version))
      let wrong = await withTaskGroup(of: Int.self) { group in
        for number in 0..<3_000 {
          group.addTask { await isOwnAnswer(transport, nginx, number) ? 0 : 1 }
        }
        return await group.reduce(0, +)
      }
      #expect(wrong == 0)
      await transport.shutdown()
    }
  }

  /// No answer at all is none that is wrong.
  private func isOwnAnswer(_ transport: HTTPClient, _ nginx: Nginx, _ number: Int) async -> Bool {
    var request = post("\(nginx.http2URL)echo", isIdempotent: number.isMultiple(of: 3))
    request.headers.add(name: "X-Number", value: String(number))
    guard let response = try? await transport.send(request) else { return true }
    return String(decoding: response.body, as: UTF8.self) == String(number)
  }

  @Test func `Unreadable authorities are said`() {
    let error = #expect(throws: TransportError.self) { try HTTPClient(.init(caFile: "/nonexistent/ca.pem")) }
    #expect(error?.description.contains("/nonexistent/ca.pem") == true)
  }
}
