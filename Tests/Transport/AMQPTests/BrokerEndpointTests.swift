import Testing

@testable import CountersignAMQP

struct BrokerEndpointTests {
  struct Sample: CustomTestStringConvertible {
    var url: String
    var host: String
    var port = 5672
    var virtualHost = "/"
    var username = "guest"
    var password = "guest"
    var isEncrypted = false

    var testDescription: String { url }
  }

  @Test(
    arguments: [
      Sample(url: "amqp://localhost", host: "localhost"),
      Sample(url: "AMQP://localhost/", host: "localhost"),
      Sample(url: "amqps://broker.example.com", host: "broker.example.com", port: 5671, isEncrypted: true),
      Sample(url: "amqp://u:p@h:1/v", host: "h", port: 1, virtualHost: "v", username: "u", password: "p"),
      Sample(url: "amqp://u@h:65535", host: "h", port: 65535, username: "u", password: ""),
      Sample(url: "amqp://u:p%40%3A%2F@h/%2F", host: "h", username: "u", password: "p@:/"),
      Sample(url: "amqp://u:p@x@h", host: "h", username: "u", password: "p@x"),
      Sample(url: "amqp://u:a:b@h", host: "h", username: "u", password: "a:b"),
      Sample(url: "amqp://u%C3%A9:p@h/v%2fhost", host: "h", virtualHost: "v/host", username: "ué", password: "p"),
      Sample(url: "amqp://[::1]:5800/x", host: "::1", port: 5800, virtualHost: "x"),
      Sample(url: "amqps://[fe80::1]", host: "fe80::1", port: 5671, isEncrypted: true),
      Sample(url: "amqps://:@h", host: "h", port: 5671, username: "", password: "", isEncrypted: true),
    ])
  func `Broker UR ls are read`(_ sample: Sample) throws {
    let endpoint = try BrokerEndpoint(url: sample.url)
    #expect(endpoint.hosts == [BrokerHost(sample.host, port: sample.port)])
    #expect(endpoint.virtualHost == sample.virtualHost)
    #expect(endpoint.username == sample.username)
    #expect(endpoint.password == sample.password)
    #expect((endpoint.tls != nil) == sample.isEncrypted)
    if let tls = endpoint.tls { #expect(tls.verifyPeer && tls.verifyHostname) }
  }

  @Test(
    arguments: [
      "", "localhost", "http://h", "amqp:h", "amqp:/h", "amqp://", "amqp://:5672", "amqp://u:secret@", "amqp://h:0",
      "amqp://h:65536", "amqp://h:x", "amqp://h:", "amqp://u:secret%4@h", "amqp://u:secret%zz@h",
      "amqp://u:secret%ff@h",
      "amqp://u:secret%00@h", "amqp://h/a/b", "amqp://u:secret@h/v?heartbeat=10", "amqp://h#f", "amqp://[::1",
      "amqp://[::1]x", "amqp://::1", "amqp://h:+5", "amqp://h:00000005672x", "amqp://a b", "amqp://a%0Ab",
      "amqp://a%2Cb",
      "amqp://u:secret@a%40b",
      "amqp://h/" + String(repeating: "v", count: 256),
    ])
  func `Other text is refused without repeating it`(_ url: String) {
    let error = #expect(throws: AMQPError.self) { try BrokerEndpoint(url: url) }
    #expect(error?.code == .invalidURL)
    #expect(error?.description.contains("secret") == false)
    #expect(error?.isRetriable == false)
  }

  @Test(
    arguments: [
      ("amqp://a,b,c", ["a:5672", "b:5672", "c:5672"]), ("amqps://u:p@a:1,b,C:65535/v", ["a:1", "b:5671", "C:65535"]),
      ("amqp://[::1],[::1]:5800,[fe80::1%25eth0]/", ["[::1]:5672", "[::1]:5800", "[fe80::1%eth0]:5672"]),
      ("amqp://u:a,b@h,i", ["h:5672", "i:5672"]), ("amqp://u:a%2Cb%40x@h,i", ["h:5672", "i:5672"]),
      ("amqp://u:p@x@h", ["h:5672"]), ("amqp://" + (1...16).map { "h\($0)" }.joined(separator: ","), nil),
    ])
  func `Lists of hosts are read, with one user and one virtual host`(_ url: String, _ hosts: [String]?) throws {
    let endpoint = try BrokerEndpoint(url: url)
    #expect(endpoint.hosts.map(\.description) == hosts ?? (1...16).map { "h\($0):5672" })
  }

  @Test func `A comma in a password separates no hosts`() throws {
    #expect(try BrokerEndpoint(url: "amqp://u:a%2Cb%40x@h,i/v").password == "a,b@x")
    #expect(try BrokerEndpoint(url: "amqp://u:a,b@h").password == "a,b")
  }

  @Test(
    arguments: [
      ("amqp://u:secret@,b", "host 1 of 2 is missing"), ("amqp://u:secret@a,", "host 2 of 2 is missing"),
      ("amqp://u:secret@a,,c", "host 2 of 3 is missing"), ("amqp://u:secret@,", "host 1 of 2 is missing"),
      ("amqp://a,:5672", "host 2 of 2 is missing"), ("amqp://a,b:0", "the port of host 2 of 2 must be"),
      ("amqp://a:65536,b", "the port of host 1 of 2 must be"),
      ("amqp://a:99999999999999999999,b", "the port of host 1"),
      ("amqp://a:5672:b,c", "write an IPv6 address in brackets"), ("amqp://a,::1", "write an IPv6 address in brackets"),
      ("amqp://[::1,b", "host 1 of 2 has no closing bracket"), ("amqp://[::1]a,b", "host 1 of 2 has text after"),
      ("amqp://a, b", "host 2 of 2 has a space"), ("amqp://a,b%00", "host 2 of 2 is not percent-encoded"),
      ("amqp://a,b%2Cc", "host 2 of 2 has a space, or a character"), ("amqp://a;b", "a character that no name has"),
      ("amqp://a,b:5672,A", "host 3 of 3 is the same as host 1"), ("amqp://a:1,a:2,A:1", "host 3 of 3 is the same"),
      ("amqps://a,a:5671", "host 2 of 2 is the same as host 1"),
      ("amqp://" + (1...17).map { "h\($0)" }.joined(separator: ","), "more than 16 hosts"),
      ("amqp://" + String(repeating: ",", count: 100_000), "more than 16 hosts"),
      ("amqp://u:secret@a,u:secret@b/v", "the user stands once, before the first host"),
      ("amqp://a,u:secret@b/v", "the user stands once, before the first host"),
      ("amqp://u:secret@a,amqp://u:secret@b", "scheme and user stand once"),
      ("amqps://a,amqp://b/v", "scheme and user stand once"), ("amqp://a/v,b/v", "write a slash"),
    ])
  func `A wrong list is refused with the place of the mistake, and without repeating it`(
    _ url: String, _ reason: String
  ) {
    let error = #expect(throws: AMQPError.self) { try BrokerEndpoint(url: url) }
    #expect(error?.code == .invalidURL)
    #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    #expect(error?.description.contains("secret") == false)
  }

  @Test func `An endpoint at one of its hosts has the same account`() throws {
    let endpoint = try BrokerEndpoint(url: "amqps://me:hunter2@a,[::1]:5800/v")
    #expect(endpoint.description == "amqps://me@a:5671,[::1]:5800/v")
    #expect(endpoint.at(endpoint.hosts[1]).description == "amqps://me@[::1]:5800/v")
    #expect(endpoint.at(endpoint.hosts[1]).password == "hunter2")
  }

  @Test func `Nothing shows the password`() throws {
    let endpoint = try BrokerEndpoint(url: "amqps://us%2Fer:hunter2@[::1]:5800/a%2Fb")
    #expect(endpoint.description == "amqps://us%2Fer@[::1]:5800/a%2Fb")
    var dumped = ""
    dump(endpoint, to: &dumped)
    for text in ["\(endpoint)", String(reflecting: endpoint), dumped] { #expect(!text.contains("hunter2")) }
  }
}
