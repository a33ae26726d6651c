import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer
import Simulation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10)))
struct TwilioReceiptTests {
  private final class Receiver: Sendable {
    let server: HTTPServer
    private let requests: AsyncStream<HTTPServerRequest>

    init(_ statuses: [Int] = []) throws {
      let (stream, continuation) = AsyncStream.makeStream(of: HTTPServerRequest.self)
      requests = stream
      let left = Mutex(statuses)
      server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 65_536) { request in
        continuation.yield(request)
        let status = left.withLock { $0.isEmpty ? 204 : $0.removeFirst() }
        return .respond(HTTPServerResponse(status: status))
      }
    }

    func next(_ count: Int) async -> [HTTPServerRequest] {
      var found: [HTTPServerRequest] = []
      for await request in requests {
        found.append(request)
        if found.count == count { break }
      }
      return found
    }
  }

  private func fields(_ request: HTTPServerRequest) -> [String: String] {
    Dictionary(FormEncoding.decode(request.body).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  @Test func `Reports are signed and come in order`() async throws {
    try await Bench.run(localCallbacks: true) { bench in
      let receiver = try Receiver()
      let url = "http://127.0.0.1:\(receiver.server.port)/receipts/a?job=1"
      #expect(try await bench.twilio(["StatusCallback": url]).status == 201)
      let reports = await receiver.next(2)
      #expect(reports.map { fields($0)["MessageStatus"] } == ["sent", "delivered"])
      for report in reports {
        let text = url + fields(report).sorted { $0.key < $1.key }.map { $0.key + $0.value }.joined()
        let code = HMAC.authenticate(
          Array(text.utf8), key: Array(bench.settings.authToken.reveal().utf8), digest: .sha1)
        #expect(report.headers["X-Twilio-Signature"] == Base64.encode(code))
        #expect(fields(report)["MessageSid"]?.hasPrefix("SM") == true && fields(report)["To"] == "+14155550123")
      }
      await receiver.server.stop()
    }
  }

  @Test func `The end is the one ordered and comes as often`() async throws {
    try await Bench.run(localCallbacks: true) { bench in
      let receiver = try Receiver()
      let order = #"{"to":"+14155550123","status":"undelivered","errorCode":30005,"delaySeconds":0,"times":2}"#
      #expect(try await bench.send("POST", "/control/receipts", body: Array(order.utf8)).status == 201)
      _ = try await bench.twilio(["StatusCallback": "http://127.0.0.1:\(receiver.server.port)/"])
      let reports = await receiver.next(3).map(fields)
      #expect(reports.map { $0["MessageStatus"] } == ["sent", "undelivered", "undelivered"])
      #expect(reports.last?["ErrorCode"] == "30005")
      await receiver.server.stop()
    }
  }

  @Test(
    arguments: ["{}", #"{"to":"+1","status":"lost"}"#, #"{"to":"+1","status":"delivered","times":0}"#])
  func `Orders that make no sense are refused`(order: String) async throws {
    try await Bench.run(localCallbacks: true) { bench in
      let answer = try await bench.send("POST", "/control/receipts", body: Array(order.utf8))
      #expect(answer.status == 400)
    }
  }
}
