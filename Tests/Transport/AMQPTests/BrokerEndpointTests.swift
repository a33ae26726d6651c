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
    "Broker UR ls are read",
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
  func brokerURLsAreRead(_ sample: Sample) throws {
    let endpoint = try BrokerEndpoint(url: sample.url)
    #expect(endpoint.host == sample.host)
    #expect(endpoint.port == sample.port)
    #expect(endpoint.virtualHost == sample.virtualHost)
    #expect(endpoint.username == sample.username)
    #expect(endpoint.password == sample.password)
    #expect((endpoint.tls != nil) == sample.isEncrypted)
    if let tls = endpoint.tls { #expect(tls.verifyPeer && tls.verifyHostname) }
  }

  @Test(
    "Other text is refused without repeating it",
    arguments: [
      "", "localhost", "http://h", "amqp:h", "amqp:/h", "amqp://", "amqp://:5672", "amqp://u:secret@", "amqp://h:0",
      "amqp://h:65536", "amqp://h:x", "amqp://h:", "amqp://u:secret%4@h", "amqp://u:secret%zz@h",
      "amqp://u:secret%ff@h",
      "amqp://u:secret%00@h", "amqp://h/a/b", "amqp://u:secret@h/v?heartbeat=10", "amqp://h#f", "amqp://[::1",
      "amqp://[::1]x",
      "amqp://h/" + String(repeating: "v", count: 256),
    ])
  func otherTextIsRefusedWithoutRepeatingIt(_ url: String) {
    let error = #expect(throws: AMQPError.self) { try BrokerEndpoint(url: url) }
    #expect(error?.code == .invalidURL)
    #expect(error?.description.contains("secret") == false)
    #expect(error?.isRetriable == false)
  }

  @Test("Nothing shows the password") func nothingShowsThePassword() throws {
    let endpoint = try BrokerEndpoint(url: "amqps://us%2Fer:hunter2@[::1]:5800/a%2Fb")
    #expect(endpoint.description == "amqps://us%2Fer@[::1]:5800/a%2Fb")
    var dumped = ""
    dump(endpoint, to: &dumped)
    for text in ["\(endpoint)", String(reflecting: endpoint), dumped] { #expect(!text.contains("hunter2")) }
  }
}
