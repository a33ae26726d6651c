import HTTPClient
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10)))
struct FaultTests {
  @Test func `Status with retry after hits as often as ordered`() async throws {
    try await Bench.run { bench in
      let order = try await bench.control(
        "POST", "/faults", #"{"provider":"twilio","fault":429,"count":2,"retryAfterSeconds":7}"#)
      #expect(order.status == 201)
      for _ in 0..<2 {
        let answer = try await bench.twilio()
        #expect(answer.status == 429)
        #expect(try answer.twilioCode() == 20429)
        #expect(answer.response.headers["Retry-After"] == "7")
      }
      let webhook = try await bench.webhook()
      #expect(webhook.status == 202)
      let after = try await bench.twilio()
      #expect(after.status == 201)
      #expect(try await bench.control("GET", "/faults").text == "[]")
    }
  }

  @Test(arguments: [(401, 20003), (500, 20500), (503, 20503), (418, 20418)])
  func `Statuses have their codes`(status: Int, code: Int) async throws {
    try await Bench.run { bench in
      _ = try await bench.control("POST", "/faults", "{\"fault\":\"\(status)\"}")
      let answer = try await bench.twilio()
      #expect(answer.status == status)
      #expect(try answer.twilioCode() == code)
    }
  }

  @Test(arguments: ["reset", "close"], [true, false])
  func `Broken connection may hide a taken message`(fault: String, processed: Bool) async throws {
    try await Bench.run { bench in
      _ = try await bench.control("POST", "/faults", "{\"fault\":\"\(fault)\",\"processed\":\(processed)}")
      let error = await #expect(throws: TransportError.self) { try await bench.twilio() }
      #expect(error?.kind == .receive)
      #expect(error?.requestMayHaveLeft == true)
      #expect(try await bench.shown().count == (processed ? 1 : 0))
    }
  }

  @Test func `Hanging request is never answered`() async throws {
    try await Bench.run { bench in
      _ = try await bench.control("POST", "/faults", #"{"fault":"hang"}"#)
      let error = await #expect(throws: TransportError.self) { try await bench.twilio(timeout: .seconds(2)) }
      #expect(error?.kind == .timedOut(.firstByte))
    }
  }

  @Test func `Hanging request may have been carried out`() async throws {
    try await Bench.run { bench in
      _ = try await bench.control("POST", "/faults", #"{"fault":"hang","processed":true}"#)
      await #expect(throws: TransportError.self) { try await bench.twilio(timeout: .seconds(2)) }
      let shown = try await bench.shown()
      #expect(shown.count == 1)
    }
  }

  @Test func `Latency delays and then processes`() async throws {
    try await Bench.run { bench in
      _ = try await bench.control("POST", "/faults", #"{"fault":"latency","delaySeconds":0.2}"#)
      let begin = ContinuousClock.now
      let answer = try await bench.twilio()
      #expect(answer.status == 201)
      #expect(ContinuousClock.now - begin >= .milliseconds(200))
      #expect(try await bench.shown().count == 1)
    }
  }

  @Test func `Probability and recipient are obeyed`() async throws {
    let next = Mutex(0.0)
    let random: @Sendable () -> Double = { next.withLock { $0 } }
    try await Bench.run(random: random) { bench in
      _ = try await bench.control("POST", "/faults", #"{"fault":"500","probability":0.3,"to":"+14155550199"}"#)
      for (number, random, status) in [
        ("+14155550199", 0.29, 500), ("+14155550199", 0.3, 201), ("+14155550123", 0.0, 201), ("+14155550199", 0.0, 500),
      ] {
        next.withLock { $0 = random }
        let answer = try await bench.twilio(["To": number])
        #expect(answer.status == status)
      }
    }
  }

  @Test func `Faults are listed and cleared`() async throws {
    try await Bench.run { bench in
      _ = try await bench.control("POST", "/faults", #"{"fault":"500","count":5}"#)
      _ = try await bench.control("POST", "/faults", #"{"fault":"reset","provider":"webhook"}"#)
      struct Listed: Decodable {
        let id: Int
        let fault: String
        let provider: String
        let remaining: Int?
      }
      let listed: [Listed] = try await bench.control("GET", "/faults").decoded()
      #expect(listed.map(\.fault) == ["500", "reset"])
      #expect(listed.map(\.provider) == ["any", "webhook"])
      let one = try await bench.control("DELETE", "/faults/\(listed[0].id)")
      #expect(one.status == 200)
      let again = try await bench.control("DELETE", "/faults/\(listed[0].id)")
      #expect(again.status == 404)
      _ = try await bench.control("DELETE", "/faults")
      #expect(try await bench.control("GET", "/faults").text == "[]")
    }
  }

  @Test(
    arguments: [
      "", "[]", "{}", #"{"fault":"explode"}"#, #"{"fault":200}"#, #"{"fault":"500","provider":"pigeon"}"#,
      #"{"fault":"500","count":0}"#, #"{"fault":"500","probability":1.1}"#, #"{"fault":"latency"}"#,
      #"{"fault":"500","delay":3}"#, #"{"fault":"500","delaySeconds":-1}"#,
    ])
  func `Wrong order is explained`(_ order: String) async throws {
    try await Bench.run { bench in
      let answer = try await bench.control("POST", "/faults", order)
      #expect(answer.status == 400)
      let problem: [String: String] = try answer.decoded()
      #expect(problem["error"]?.isEmpty == false)
    }
  }
}
