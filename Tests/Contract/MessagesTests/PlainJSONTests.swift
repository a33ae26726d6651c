import CountersignEncoding
import CountersignTelemetry
import TestSupport
import Testing

@testable import CountersignMessages

@Suite struct PlainJSONTests {
  @Test func `Members of an object are read`() throws {
    let json = try #require(
      PlainJSON(
        Array(
          #" { "text" : "Grüße", "empty":"", "number": -12 ,"zero":0,"yes":true,"no":false,"none":null,"in":{"a":"b"},"e":{}} "#
            .utf8)))
    #expect(json.text("text") == "Grüße")
    #expect(json.text("empty")?.isEmpty == true)
    #expect(json.text("number") == nil)
    #expect(json.text("missing") == nil)
    #expect(json.integer("number") == -12)
    #expect(json.integer("zero") == 0)
    #expect(json.object("in")?.text("a") == "b")
    #expect(json.object("e") != nil)
    #expect(json.has("no"))
    #expect(!json.has("none"))
    #expect(!json.has("missing"))
    #expect(json.areTextsOrAbsent("text", "none", "missing"))
    #expect(!json.areTextsOrAbsent("text", "zero"))
  }

  @Test(
    arguments: [
      "", "{", "}", "[]", "1", "\"a\"", "{}x", "{} {}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{,}"#, #"{"a":1 "b":2}"#,
      #"{"a":"b\n"}"#, "{\"a\":\"b\u{1}\"}", #"{"a":1.5}"#, #"{"a":1e3}"#, #"{"a":01}"#, #"{"a":-}"#, #"{"a":+1}"#,
      #"{"a":1234567890123456}"#, #"{"a":[]}"#, #"{"a":tru}"#, #"{"a":nul}"#, #"{"a":"b"#, #"{"a":1,"a":2}"#, #"{a:1}"#,
      #"{"a":{"b":{"c":{}}}}"#, #"{"a":{"b":1,"b":2}}"#,
    ])
  func `Leaves the rest to the decoder`(text: String) {
    #expect(PlainJSON(Array(text.utf8)) == nil)
  }

  @Test func `Leaves what is not UTF-8 to the decoder`() {
    #expect(PlainJSON(Array(#"{"a":""#.utf8) + [0xC3] + Array(#""}"#.utf8)) == nil)
    #expect(PlainJSON(Array("{\"".utf8) + [0xFF] + Array(#"":"a"}"#.utf8)) == nil)
  }

  @Test func `Leaves many members to the decoder`() {
    func object(_ count: Int) -> [UInt8] {
      Array("{\((0..<count).map { "\"m\($0)\":\($0)" }.joined(separator: ","))}".utf8)
    }
    #expect(PlainJSON(object(32))?.integer("m31") == 31)
    #expect(PlainJSON(object(33)) == nil)
  }

  /// The short cut is none around the limit of a body.
  @Test func `Leaves what is too long to the decoder`() {
    let frame = #"{"to":"+14155550123","deadline":"2026-07-01T12:00:00Z","text":""}"#
    func body(_ bytes: Int) -> [UInt8] {
      Array(frame.utf8.dropLast(2)) + [UInt8](repeating: 0x61, count: bytes - frame.utf8.count) + Array(#""}"#.utf8)
    }
    #expect(PlainJSON(body(MessageLimits.maxBodyBytes)) != nil)
    #expect(PlainJSON(body(MessageLimits.maxBodyBytes + 1)) == nil)
    #expect(throws: ContractProblem.self) { try SMSDispatchJob(json: body(MessageLimits.maxBodyBytes + 1)) }
  }

  @Test func `Is taken for the usual bodies`() throws {
    let time = UnixTime(milliseconds: 1_782_907_200_250)
    let variables = SMSDispatchJob.Variables(
      code: SecretField(Secret("123456")), appName: "a", domain: "example.com",
      custom: ["plan": "Gold", "place": "Köln"])
    let job = SMSDispatchJob(
      to: "+14155550123", content: .template(name: "t", languageCode: "fr", variables: variables), app: "a",
      lane: "l", deadline: time, onUnknown: .resend)
    #expect(try PlainJSON(job.json()).flatMap(SMSDispatchJob.init) == job)
    let push = PushVerifyJob(
      app: "a", deviceToken: "00ff", environment: .sandbox, receipt: "r", secret: SecretField(Secret("s")),
      deadline: time)
    #expect(try PlainJSON(push.json()).flatMap(PushVerifyJob.init) == push)
    let result = JobResult(
      jobID: "j", outcome: .accepted, lane: "l", reference: "r", attempts: 1, startedAt: time, finishedAt: time
    ).adding(["segments": 1, "encoding": "GSM-7", "b": true])
    #expect(try PlainJSON(result.json()).flatMap(JobResult.init) == result)
    var start = StartVerification(
      phoneNumber: "+14155550123", app: "a", client: .init(ip: "192.0.2.1", instance: "i"),
      purpose: .secondFactorSignIn, subject: "s", requester: "q")
    start.variables = ["plan": "Gold"]
    #expect(
      try PlainJSON(start.json()).flatMap(StartVerification.init).map { try JSONValue(parsing: $0.json()) }
        == JSONValue(parsing: start.json()))
    let check = CheckVerification(
      verificationID: "v", code: SecretField(Secret("1")), app: "a", purpose: .signIn, subject: "s",
      client: .init(ip: "192.0.2.1", userAgent: "u"))
    #expect(
      try PlainJSON(check.json()).flatMap(CheckVerification.init).map { try JSONValue(parsing: $0.json()) }
        == JSONValue(parsing: check.json()))
  }

  /// With the short cut everything is as without it, also what is wrong.
  @Test(arguments: 0..<40)
  func `Says what the decoder says`(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    for sample in try Sample.all() {
      for body in sample.bodies {
        for _ in 0..<20 {
          var json = body
          for _ in 0...random.next() % 3 { Self.mutate(&json, &random) }
          try Self.compare(json, sample.type)
        }
        try Self.compare(body, sample.type)
      }
    }
  }

  private static func compare(_ json: [UInt8], _ type: MessageType) throws {
    switch type {
    case SMSDispatchJob.type: try compare(json, SMSDispatchJob.init(json:), SMSDispatchJob.self)
    case PushVerifyJob.type: try compare(json, PushVerifyJob.init(json:), PushVerifyJob.self)
    case StartVerification.type: try compare(json, StartVerification.init(json:), StartVerification.self)
    case CheckVerification.type: try compare(json, CheckVerification.init(json:), CheckVerification.self)
    case JobResult.type(ofJob: SMSDispatchJob.type): try compare(json, JobResult.init(json:), JobResult.self)
    default: break
    }
  }

  private static func compare<Body: Codable>(
    _ json: [UInt8], _ read: ([UInt8]) throws(ContractProblem) -> Body, _ type: Body.Type
  ) throws {
    let quick = Result { () throws(ContractProblem) in try read(json) }
    let thorough = Result { () throws(ContractProblem) in try ContractJSON.decode(type, from: json) }
    let text = String(decoding: json, as: UTF8.self)
    switch (quick, thorough) {
    case (.success(let quick), .success(let thorough)):
      let quick = try JSONValue(parsing: ContractJSON.encode(quick))
      let thorough = try JSONValue(parsing: ContractJSON.encode(thorough))
      #expect(quick == thorough, "\(text)")
    case (.failure(let quick), .failure(let thorough)):
      #expect(quick.description == thorough.description, "\(text)")
    case (.success, .failure), (.failure, .success):
      Issue.record("read in one way only: \(text)")
    }
  }

  private static func mutate(_ json: inout [UInt8], _ random: inout SplitMix) {
    let pieces = [
      "\"", "\\", "{", "}", "null", "1", "-", "0", "1.5", "true", ",", ":", " ", "\u{1}", "ü", "[]", "{}", "\"a\":1,",
      "\\u0041", "e5",
    ]
    let place = Int(random.next() % UInt64(json.count))
    switch random.next() % 3 {
    case 0: json.remove(at: place)
    case 1: json[place] = UInt8(truncatingIfNeeded: random.next())
    default: json.insert(contentsOf: pieces[Int(random.next() % UInt64(pieces.count))].utf8, at: place)
    }
    if json.isEmpty { json = Array("{}".utf8) }
  }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers for the same seed.
private struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
