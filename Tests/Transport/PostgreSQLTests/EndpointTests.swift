import PostgreSQL
import Testing

@Suite struct EndpointTests {
  @Test func `A URL with several hosts is read and printed alike`() throws {
    let url = "postgresql://app@db1.example:5432,[::1]:5433,%2Frun%2Fpostgresql:5432/countersign"
    let endpoint = try PostgreSQLEndpoint(url: url)
    #expect(endpoint.hosts.map(\.host) == ["db1.example", "::1", "/run/postgresql"])
    #expect(endpoint.hosts.map(\.port) == [5432, 5433, 5432])
    #expect(endpoint.user == "app")
    #expect(endpoint.database == "countersign")
    #expect(endpoint.description == url)
  }

  @Test(
    arguments: [
      "", "postgresql", "http://a@b/c", "postgresql://b/c", "postgresql://a@/c", "postgresql://a@b",
      "postgresql://a@b/",
      "postgresql://a:secret@b/c", "postgresql://a@b/c?sslmode=disable", "postgresql://a@b:0/c",
      "postgresql://a@b:65536/c",
      "postgresql://a@b,/c", "postgresql://a@[::1/c", "postgresql://a@b/c/d", "postgresql://@b/c",
      "postgresql://a%00@b/c",
      "postgresql://a@\((0...16).map { "h\($0)" }.joined(separator: ","))/c",
      "postgresql://\(String(repeating: "x", count: 64))@b/c",
    ])
  func `A URL that is none, or says more than it may, is refused without being repeated`(url: String) {
    let error = #expect(throws: StoreError.self) { try PostgreSQLEndpoint(url: url) }
    #expect(error?.code == .invalidURL)
    #expect(error?.message.contains("secret") == false)
  }

  @Test func `The password shows nowhere`() throws {
    var endpoint = try PostgreSQLEndpoint(url: "postgresql://a@b/c")
    endpoint.password = "xyzzy"
    var dumped = ""
    dump(endpoint, to: &dumped)
    #expect(!"\(endpoint) \(String(reflecting: endpoint)) \(dumped)".contains("xyzzy"))
  }

  @Test(
    arguments: zip(
      [
        "/run/postgresql", "localhost", "127.0.0.1", "127.1.2.3", "::1", "127.0.0.1.example", "db", "10.0.0.1", "127.1",
      ],
      [true, true, true, true, true, false, false, false, false]))
  func `Only sockets and loopback are local`(host: String, isLocal: Bool) {
    #expect(ServerAddress(host: host).isLocal == isLocal)
  }
}
