import Testing

@Suite(.timeLimit(.minutes(10)))
struct WebhookTests {
  @Test func `Signed webhook is taken`() async throws {
    try await Bench.run { bench in
      let answer = try await bench.webhook()
      #expect(answer.status == 202)
      let reference: [String: String] = try answer.decoded()
      #expect(reference["reference"] == "WHjob.1")
      let shown = try await bench.shown()
      #expect(shown.map(\.id) == ["job.1"])
      #expect(shown.first?.provider == "webhook")
    }
  }

  @Test func `Wrong signature is refused`() async throws {
    try await Bench.run { bench in
      for signature in ["v1,AAAA", "", "v2,x", "nonsense"] {
        let answer = try await bench.webhook(signature: signature)
        #expect(answer.status == 401)
      }
      #expect(try await bench.shown().isEmpty)
    }
  }

  @Test(
    arguments: [(Duration.seconds(299), 202), (.seconds(301), 401), (.seconds(-299), 202), (.seconds(-301), 401)])
  func `Stale webhook is refused`(age: Duration, status: Int) async throws {
    try await Bench.run { bench in
      let answer = try await bench.webhook(age: age)
      #expect(answer.status == status)
    }
  }

  @Test func `Repeated webhook is recorded once`() async throws {
    try await Bench.run { bench in
      for _ in 0..<3 {
        let answer = try await bench.webhook()
        #expect(answer.status == 202)
      }
      #expect(try await bench.shown().map(\.deliveries) == [3])
      let summary = try await bench.summary()
      #expect(summary.received == 1)
      #expect(summary.repeatedWebhooks == 2)
      #expect(summary.duplicates == 0)
      let other = try await bench.webhook(text: "Something else")
      #expect(other.status == 409)
    }
  }

  @Test(
    arguments: [("+15005550004", "text", 422), ("nobody", "text", 422), ("+14155550123", "", 400)])
  func `Wrong message is refused`(to: String, text: String, status: Int) async throws {
    try await Bench.run { bench in
      let answer = try await bench.webhook(to: to, text: text)
      #expect(answer.status == status)
      #expect(try await bench.shown().isEmpty)
    }
  }
}
