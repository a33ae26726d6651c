import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import HTTPClient
import TestSupport
import Testing

@testable import Gateway

@Suite struct VerificationCallTests {
  private static let least = #"{"phoneNumber":"+14155550123","app":"com.example.app"}"#

  @Test(arguments: [VerificationBench.path, "/v1/verifications"])
  func `A start tells accounts all that the server says, and answers with the reply`(path: String) async throws {
    let bench = try VerificationBench()
    let json = #"""
      {"phoneNumber":"4155550123","app":"com.example.app","region":"US","languageCode":"pt-BR",
      "client":{"ip":"192.0.2.1","userAgent":"a","instance":"i"}}
      """#
    let answer = try await bench.send("POST", path, json, headers: VerificationBench.headers(key: #""k-1""#))
    #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/json; charset=utf-8")
    #expect(try JSONValue(parsing: answer.text) == JSONValue(parsing: VerificationBench.started.json()))
    let command = try bench.broker.command(StartServiceVerification.self)
    #expect(command.project == "example" && command.app == "com.example.app" && command.phoneNumber == "4155550123")
    #expect(command.region == "US" && command.languageCode == "pt-BR" && command.idempotencyKey == "k-1")
    #expect(command.client == StartVerification.Client(ip: "192.0.2.1", userAgent: "a", instance: "i"))
    #expect(try bench.open(#require(command.bearer), of: StartServiceVerification.self) == "ya29.token")
    #expect(bench.broker.violations == [])
  }

  @Test func `A check seals the code`() async throws {
    let bench = try VerificationBench()
    let json = #"{"code":"476431","app":"com.example.app","client":{"ip":"192.0.2.1"}}"#
    let answer = try await bench.send(
      "POST", VerificationBench.one + "/check", json, headers: VerificationBench.headers(key: "k"))
    #expect(answer.status == 200 && answer["approvedAt"] != nil)
    let command = try bench.broker.command(CheckServiceVerification.self)
    #expect(command.verificationID == "v-1" && command.app == "com.example.app" && command.idempotencyKey == "k")
    #expect(command.client?.ip == "192.0.2.1")
    #expect(try bench.open(command.code, of: CheckServiceVerification.self) == "476431")
    #expect(try bench.open(#require(command.bearer), of: CheckServiceVerification.self) == "ya29.token")
    #expect(!bench.broker.commands.contains { String(decoding: $0.body, as: UTF8.self).contains("476431") })
  }

  @Test func `A verification is read and canceled by its path`() async throws {
    let bench = try VerificationBench()
    let read = try await bench.send("GET", VerificationBench.one)
    #expect(read.status == 200 && read["state"] == "failed" && read["timeline"]?[0]?["event"] == "sms.delayed")
    let canceled = try await bench.send(
      "DELETE", VerificationBench.one, headers: VerificationBench.headers(key: "k"))
    #expect(canceled.status == 200 && canceled["canceledAt"] != nil)
    let get = try bench.broker.command(GetServiceVerification.self)
    let cancel = try bench.broker.command(CancelServiceVerification.self)
    #expect(get.verificationID == "v-1" && cancel.verificationID == "v-1" && cancel.idempotencyKey == "k")
    #expect(try bench.open(#require(get.bearer), of: GetServiceVerification.self) == "ya29.token")
    #expect(try bench.open(#require(cancel.bearer), of: CancelServiceVerification.self) == "ya29.token")
  }

  @Test(
    arguments: [
      ("{}", "app"), (#"{"app":"a"}"#, "phoneNumber"), (#"{"phoneNumber":"+1"}"#, "app"),
      (#"{"phoneNumber":"+1","app":"a","shade":"red"}"#, "shade"),
      (#"{"phone_number":"+1","app":"a"}"#, "phone_number"), (#"{"phoneNumber":5,"app":"a"}"#, "phoneNumber"),
      (#"{"phoneNumber":"+1","app":"a","région":"x"}"#, "?"),
      (#"{"phoneNumber":"+1","app":"a","region":null}"#, "region"),
      (#"{"phoneNumber":"+1","app":"a","region":""}"#, "region"),
      (#"{"phoneNumber":"+1","app":"a","languageCode":"p\nt"}"#, "languageCode"),
      (#"{"phoneNumber":"+1","app":"a","client":[]}"#, "client"),
      (#"{"phoneNumber":"+1","app":"a","client":{"IP":"192.0.2.1"}}"#, "client.IP"),
      (#"{"phoneNumber":"+1","app":"a","client":{"ip":7}}"#, "client.ip"),
    ])
  func `What is not a field of the call, or not of its form, is refused by its name`(
    json: String, field: String
  ) async throws {
    let bench = try VerificationBench()
    #expect(try await bench.start(json).isProblem(400, "INVALID_ARGUMENT", field: field))
    #expect(bench.broker.commands.isEmpty)
  }

  @Test func `Texts and names have a limit`() async throws {
    let bench = try VerificationBench()
    let long = String(repeating: "x", count: 257)
    let app = try await bench.start(#"{"phoneNumber":"+1","app":"\#(long)"}"#)
    #expect(app.isProblem(400, "INVALID_ARGUMENT", field: "app") && !app.text.contains("xxx"))
    let named = try await bench.start(#"{"\#(long)":1}"#)
    #expect(named["field"]?.text?.utf8.count == 64)
    let instance = String(repeating: "i", count: 512)
    let client = #"{"phoneNumber":"+1","app":"a","client":{"instance":"\#(instance)"}}"#
    #expect(try await bench.start(client).status == 200)
    #expect(try await bench.send("GET", VerificationBench.path + "/" + long).isProblem(404, "INVALID_SESSION_INFO"))
    let body = String(repeating: " ", count: CallLimits.maxBodyBytes + 1)
    #expect(try await bench.start(body).isProblem(413, "INVALID_ARGUMENT"))
  }

  @Test func `Parameters are refused, since the calls have none`() async throws {
    let bench = try VerificationBench()
    for target in [VerificationBench.path + "?app=a", "/v1/verifications?targetProjectId=example"] {
      let answer = try await bench.send("POST", target, Self.least)
      #expect(answer.status == 400 && answer["code"] == "INVALID_ARGUMENT" && answer["field"] != nil)
    }
    #expect(try await bench.send("GET", VerificationBench.one + "?verbose=1").status == 400)
    #expect(bench.broker.commands.isEmpty)
  }

  @Test(
    arguments: [
      (["k"], "k"), ([#""k""#], "k"), ([#""a\"b\\c""#], #"a"b\c"#), (["a b"], "a b"),
      ([#""k"#], nil), ([#""k"x"#], nil), ([#""a\b""#], nil), ([#""""#], nil), (["é"], nil), (["a", "b"], nil),
      ([String(repeating: "k", count: 255)], String(repeating: "k", count: 255)),
      ([String(repeating: "k", count: 256)], nil),
    ] as [([String], String?)])
  func `An idempotency key is a text in quotes or without`(values: [String], key: String?) async throws {
    let bench = try VerificationBench()
    let headers = [VerificationBench.bearer] + values.map { (name: "Idempotency-Key", value: $0) }
    let answer = try await bench.send("POST", VerificationBench.path, Self.least, headers: headers)
    if let key {
      #expect(try bench.broker.command(StartServiceVerification.self).idempotencyKey == key)
    } else {
      #expect(answer.isProblem(400, "INVALID_ARGUMENT", field: "Idempotency-Key") && bench.broker.commands.isEmpty)
    }
  }

  @Test(
    arguments: [
      (APIError(.invalidPhoneNumber, "d"), 400), (APIError(.invalidArgument, "d", field: "client.ip"), 400),
      (APIError(.invalidArgument, "d", field: "app", reason: "MISSING_VARIABLE"), 400),
      (APIError(.invalidAccessToken, "d", field: "bearer"), 401),
      (APIError(.insufficientPermission, "d", field: "bearer"), 403), (APIError(.operationNotAllowed, "d"), 403),
      (APIError(.invalidSessionInfo, "d"), 404), (APIError(.sessionExpired, "d"), 409),
      (APIError(.invalidCode, "d", attemptsLeft: 4), 422),
      (APIError(.invalidArgument, "d", field: "idempotencyKey", reason: "IDEMPOTENCY_KEY_REUSED"), 422),
      (APIError(.tooManyAttempts, "d", retryAfter: 60), 429), (APIError(.quotaExceeded, "d"), 429),
    ])
  func `Refusals keep code, field, reason and words`(error: APIError, status: Int) async throws {
    let answer = try await VerificationBench(refusing: error).start(Self.least)
    #expect(answer.isProblem(status, error.code.rawValue, field: error.field) && answer["detail"] == "d")
    #expect(answer["reason"]?.text == error.reason && answer["attemptsLeft"]?.wholeNumber == error.attemptsLeft)
    #expect(answer["retryAfter"]?.wholeNumber == error.retryAfter)
    #expect((answer.headers["WWW-Authenticate"] == "Bearer") == (status == 401))
  }

  @Test(
    arguments: [
      (APIError(.internalError, "secret", retryAfter: 2), 503), (APIError(.internalError, "secret"), 500),
      (APIError(.projectNotFound, "secret"), 500), (APIError(.invalidArgument, "secret", field: "bearer"), 500),
      (APIError(.operationNotAllowed, "secret", field: "user_id"), 500),
    ])
  func `Failures of ours tell nothing of their cause`(error: APIError, status: Int) async throws {
    let answer = try await VerificationBench(refusing: error).start(Self.least)
    #expect(answer.isProblem(status, "INTERNAL_ERROR") && !answer.text.contains("secret"))
    #expect(answer["retryAfter"]?.wholeNumber == error.retryAfter)
  }

  @Test func `Without a bearer nobody is asked`() async throws {
    let bench = try VerificationBench()
    for headers in [[], [(name: "Authorization", value: "Basic eDp5")]] as [[(name: String, value: String)]] {
      let answer = try await bench.send("POST", VerificationBench.path, Self.least, headers: headers)
      #expect(answer.isProblem(401, "INVALID_ACCESS_TOKEN") && answer.headers["WWW-Authenticate"] == "Bearer")
    }
    #expect(bench.broker.commands.isEmpty)
  }

  @Test func `A project, an ID and a method that are not there are problems, too`() async throws {
    let bench = try VerificationBench()
    for path in [VerificationBench.path, "/v1/verifications"] {
      #expect(try await bench.send("GET", path + "/a%2Fb").isProblem(404, "INVALID_SESSION_INFO"))
    }
    let other = try await bench.send("POST", "/v1/projects/other/verifications", Self.least)
    #expect(other.isProblem(400, "PROJECT_NOT_FOUND"))
    let put = try await bench.send("PUT", VerificationBench.one, "{}")
    #expect(put.isProblem(405, "INVALID_ARGUMENT") && put.headers["Allow"] == "DELETE, GET")
    #expect(try await bench.start("nonsense").isProblem(400, "INVALID_ARGUMENT"))
  }

  @Test func `Without the broker, or an answer, the call is 503`() async throws {
    let bench = try VerificationBench()
    bench.broker.fail(AMQPError(.timedOut, "no reply"))
    #expect(try await bench.start(Self.least).isProblem(503, "INTERNAL_ERROR"))
    bench.broker.setReady(false)
    let away = try await bench.start(Self.least)
    #expect(away.isProblem(503, "INTERNAL_ERROR") && away.headers["Retry-After"] == "1")
  }
}
