import CountersignTelemetry
import FoundationEssentials
import JobEngine
import PhoneNumbers
import SMPP
import ServiceRuntime
import TestSupport
import Testing

@testable import SMS

@Suite struct SMSWorkerConfigurationTests {
  private static let twilio =
    #"name: "t", type: "twilio", accountSID: "AC1", passwordFile: "password", from: "+15005550006""#
  private static let webhook =
    #"name: "w", type: "webhook", baseURL: "https://sms.example.com/x", secretFile: "secret""#

  private static let operatorLane =
    #"name: "s", type: "smpp", host: "127.0.0.1", passwordFile: "password", from: "+15005550006""#

  private func load(
    _ lanes: String, _ rest: String = "", _ environment: [String: String] = [:],
    regions: String = #"allowed: ["US"]"#
  ) throws -> LoadedConfiguration<SMSWorkerConfiguration> {
    let directory = try TemporaryDirectory()
    for name in ["templates", "providers"] { try directory.link(name, to: "\(Shipped.config)/\(name)") }
    try directory.write("sesame\n", to: "password")
    try directory.write(String(repeating: "p", count: 65), to: "long")
    try directory.write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", to: "secret")
    let file = try directory.write(
      #"{broker: {url: "amqp://u:p@127.0.0.1/"}, regions: {\#(regions)}, lanes: \#(lanes), allowNoKeys: true, \#(rest)}"#,
      to: "worker.json5")
    defer { withExtendedLifetime(directory) {} }
    return try SMSWorkerConfiguration.load(file: file, environment: environment)
  }

  private func problems(_ lanes: String, _ rest: String = "") throws -> String {
    problem { try load(lanes, rest) }
  }

  @Test func `Defaults`() throws {
    let loaded = try load("[{\(Self.twilio)}, {\(Self.webhook)}]")
    let configuration = loaded.content
    #expect(loaded.warnings.isEmpty, "\(loaded.warnings)")
    #expect(configuration.worker.prefetch == nil)
    #expect(configuration.worker.ledger.kind == .sqlite)
    #expect(configuration.worker.ledger.path.hasSuffix("/sms-ledger.sqlite"))
    #expect(configuration.worker.ledger.synchronous == .full)
    #expect(configuration.worker.ledger.retention == .seconds(6 * 3600))
    #expect(configuration.templates.directory.hasSuffix("/templates/sms"))
    #expect(configuration.limits == SMSLimits())
    #expect(configuration.minValidity == .seconds(5))
    #expect(configuration.worker.maxUnknownResends == 2)
    #expect(configuration.lanes.map(\.lane) == [LaneConfiguration(name: "t"), LaneConfiguration(name: "w")])
    let twilio = try #require(configuration.lanes[0].provider as? TwilioProvider)
    #expect(twilio.configuration.messagesURL == "https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json")
    #expect(twilio.password.reveal() == "sesame")
  }

  @Test func `Every key of a lane is read`() throws {
    let more =
      #"concurrency: 7, ratePerSecond: 2.5, burst: 3, timeoutSeconds: 1.5, breakerThreshold: 0, regions: ["DE", "FR"],"#
      + #" prefixes: ["+49", "+33"], apps: ["com.example.app"], weight: 2.5"#
    let lane = try load("[{\(Self.twilio), \(more)}]").content.lanes[0]
    #expect(
      lane.lane
        == LaneConfiguration(
          name: "t", concurrency: 7, rate: LaneRate(perSecond: 2.5, burst: 3), callTimeout: .milliseconds(1500),
          breakerThreshold: 0))
    #expect(
      lane.rules
        == RouteRules(regions: ["DE", "FR"], prefixes: ["+49", "+33"], apps: ["com.example.app"], weight: 2.5))
  }

  @Test func `Regions and types of number are read, and nothing is sent where none is named`() throws {
    let loaded = try load("[{\(Self.twilio)}]").content.recipients
    #expect(loaded.regions == RegionRules(allowed: ["US"], refusedTypes: [.fixedLine, .voip]))
    let rest = #"numberOverrides: "\#(Shipped.config)/number-overrides.json5""#
    #expect(try load("[{\(Self.twilio)}]", rest).content.recipients.overrides.count > 100)
    #expect(try load("[{\(Self.twilio), allowPinned: true}]").content.lanes[0].allowsPinned)
    for none in ["", "allowed: []"] {
      let error = #expect(throws: ConfigurationError.self) { try load("[{\(Self.twilio)}]", regions: none) }
      #expect(error?.description.contains("regions.allowed: is empty, so no message is sent") == true)
    }
  }

  private static let others = [
    #"name: "v", type: "vonage", apiKey: "abcd1234", apiSecretFile: "password", from: "Example""#,
    #"name: "m", type: "messagebird", accessKeyFile: "password", from: "+15005550006""#,
    #"name: "a", type: "aws", region: "eu-central-1", accessKeyID: "AKIDEXAMPLE0000001", secretKeyFile: "password""#
      + #", originationIdentity: "arn:aws:sms-voice:eu-central-1:1:pool/pool-1""#,
  ]

  @Test func `The other providers, each at its own address`() throws {
    let more = #"messageType: "promotional", maxPrice: "0.10", configurationSet: "s", protectConfigurationID: "p""#
    let lanes = try load("[{\(Self.others[0])}, {\(Self.others[1])}, {\(Self.others[2]), \(more)}]").content.lanes
    let vonage = try #require(lanes[0].provider as? VonageProvider)
    let bird = try #require(lanes[1].provider as? MessageBirdProvider)
    let aws = try #require(lanes[2].provider as? AWSProvider)
    #expect(vonage.configuration.url == "https://rest.nexmo.com/sms/json")
    #expect(vonage.secret.reveal() == "sesame")
    #expect(vonage.signature == nil && bird.signature == nil)
    #expect(bird.configuration.url == "https://rest.messagebird.com/messages")
    #expect(aws.configuration.url == "https://sms-voice.eu-central-1.amazonaws.com/")
    #expect(aws.configuration.host == "sms-voice.eu-central-1.amazonaws.com")
    #expect(aws.configuration.messageType == .promotional && aws.configuration.maxPrice == "0.10")
    #expect(aws.configuration.configurationSet == "s" && aws.configuration.protectConfigurationID == "p")
  }

  @Test func `An SMPP lane may use national language tables where it writes the headers`() throws {
    let lanes = try load("[{\(Self.operatorLane), systemID: \"x\", nationalShiftTables: true}]").content.lanes
    #expect(lanes[0].nationalShiftTables)
  }

  @Test func `Signing keys of delivery reports are read`() throws {
    let vonage = Self.others[0] + #", signatureSecretFile: "password", signatureMethod: "sha512""#
    let lanes = try load("[{\(vonage)}, {\(Self.others[1]), signingKeyFile: \"password\"}]").content.lanes
    let configured = try #require(lanes[0].provider as? VonageProvider)
    let bird = try #require(lanes[1].provider as? MessageBirdProvider)
    let wanted = VonageSignature(apiKey: "", secret: Secret("sesame"), method: .sha512)
    let fields = [(name: "a", value: "1")]
    #expect(configured.signature?.code(of: fields) == wanted.code(of: fields))
    #expect(bird.signature != nil)
  }

  @Test func `Messages that can wait are taken when they have a share`() throws {
    #expect(try load("[{\(Self.twilio)}]").content.bulk == nil)
    #expect(try load("[{\(Self.twilio)}]", "bulk: {share: 0, prefetch: 9}").content.bulk == nil)
    let bulk = try #require(try load("[{\(Self.twilio)}]", "bulk: {share: 0.25}").content.bulk)
    #expect(bulk.share == 0.25 && bulk.prefetch == 64)
    #expect(
      try problems("[{\(Self.twilio), concurrency: 1}]", "bulk: {share: 0.1}")
        .contains("bulk.share: leaves nothing of the lane t, whose concurrency is 1"))
    #expect(try problems("[{\(Self.twilio)}]", "bulk: {share: 0.6}").contains("bulk.share: must be"))
  }

  @Test(
    arguments: [(2, 0.01, 1), (2, 0.5, 1), (10, 0.25, 2), (64, 0.25, 16), (3, 0.5, 1), (1, 0.5, 1)])
  func `A lane that is split is the lane as configured, and neither part is empty`(
    concurrency: Int, share: Double, expected: Int
  ) {
    let lane = LaneConfiguration(name: "t", concurrency: concurrency, rate: LaneRate(perSecond: 20, burst: 8))
    let (part, rest) = lane.split(share)
    #expect(part.concurrency == expected && rest.concurrency >= 1)
    #expect(concurrency == 1 || part.concurrency + rest.concurrency == concurrency)
    #expect((part.rate?.perSecond ?? 0) + (rest.rate?.perSecond ?? 0) == 20)
    #expect(part.rate?.perSecond == 20 * share)
    #expect((part.rate?.burst ?? 0) >= 1 && (part.rate?.burst ?? 0) + (rest.rate?.burst ?? 0) <= 9)
    #expect(part.name == "t" && rest.name == "t" && part.breakerThreshold == lane.breakerThreshold)
    #expect(LaneConfiguration(name: "t", concurrency: concurrency).split(share).share.rate == nil)
  }

  @Test func `A variable of the environment reaches into a lane`() throws {
    let loaded = try load("[{\(Self.twilio)}]", "", ["COUNTERSIGN_LANES_0_CONCURRENCY": "9"])
    #expect(loaded.content.lanes[0].lane.concurrency == 9)
  }

  @Test(
    arguments: [
      ("[]", "lanes: is empty: configure at least one lane"),
      ("[{\(twilio)}, {\(twilio)}]", "lanes.1.name: is the name of lanes.0 too: give each lane its own"),
      (
        #"[{name: "a b", type: "webhook", baseURL: "https://x/", secretFile: "secret"}]"#,
        "lanes.0.name: must be 1 to 40"
      ),
      (#"[{name: "a", type: "kannel"}]"#, "lanes.0.type: must be one of twilio, webhook, smpp"),
      (#"[{name: "a"}]"#, "lanes.0.type: is required"),
      (#"[{name: "v", type: "vonage", apiKey: "k", apiSecretFile: "password"}]"#, "lanes.0.from: is required"),
      (
        #"[{name: "v", type: "vonage", apiKey: "a&b", apiSecretFile: "password", from: "X"}]"#,
        "lanes.0.apiKey: must be"
      ),
      (#"[{name: "m", type: "messagebird", from: "X"}]"#, "lanes.0.accessKeyFile: is required"),
      ("[{\(others[2]), maxPrice: \"10 cents\"}]", "lanes.0.maxPrice: must be a price"),
      ("[{\(others[2].replacing("eu-central-1", with: "eu/1"))}]", "lanes.0.region: must be letters"),
      ("[{\(others[2].replacing("arn:", with: "a b"))}]", "lanes.0.originationIdentity: must be a number"),
      ("[{\(others[2]), messageType: \"bulk\"}]", "lanes.0.messageType: must be one of transactional, promotional"),
      (
        "[{\(twilio), messagingServiceSID: \"MG1\"}]",
        "lanes.0.from: is given together with messagingServiceSID: keep one of them"
      ),
      (
        #"[{name: "t", type: "twilio", accountSID: "AC1", passwordFile: "password"}]"#,
        "lanes.0.from: is required, or messagingServiceSID"
      ),
      (
        #"[{name: "t", type: "twilio", accountSID: "AC/1", passwordFile: "password", from: "X"}]"#,
        "lanes.0.accountSID: must be a SID"
      ),
      (
        #"[{name: "t", type: "twilio", accountSID: "AC1", passwordFile: "nowhere", from: "X"}]"#,
        "nowhere does not exist"
      ),
      (#"[{name: "t", type: "twilio", accountSID: "AC1", from: "X"}]"#, "lanes.0.passwordFile: is required"),
      (
        #"[{name: "t", type: "twilio", accountSID: "AC1", passwordFile: "password", from: "+1 415"}]"#,
        "lanes.0.from: must be a number"
      ),
      ("[{\(twilio), baseURL: \"ftp://x/\"}]", "lanes.0.baseURL: must be an http:// or https:// URL"),
      ("[{\(twilio), baseURL: \"https://u:p@x/\"}]", "lanes.0.baseURL: must be an http:// or https:// URL"),
      (
        "[{\(twilio), regions: [\"de\"]}]",
        "lanes.0.regions: must name regions: de is not a region's code of ISO 3166-1, such as US, nor a calling code, such as +883: did you mean DE?"
      ),
      ("[{\(twilio), prefixes: [\"49\"]}]", "lanes.0.prefixes: must be + and 1 to 15 digits"),
      ("[{\(twilio), concurrency: 0}]", "lanes.0.concurrency: must be a whole number from 1 to 10000"),
      ("[{\(twilio), secretFile: \"secret\"}]", "lanes.0.secretFile: unknown key"),
      ("[{\(twilio), transliterate: true}]", "transliterationTable: cannot read"),
      ("[{\(twilio), nationalShiftTables: true}]", "lanes.0.nationalShiftTables: is not possible with this type"),
      (
        "[{\(operatorLane), systemID: \"x\", nationalShiftTables: true, encodingOfLongMessages: \"payload\"}]",
        "lanes.0.nationalShiftTables: is not possible with this type (smpp: with payload)"
      ),
      ("[{\(webhook), from: \"This name is too long\"}]", "lanes.0.from: must be a number"),
      (
        #"[{name: "w", type: "webhook", baseURL: "https://x/", secretFile: "password"}]"#,
        "lanes.0.secretFile: secret 1 must be whsec_"
      ),
      (#"[{name: "w", type: "webhook", secretFile: "secret"}]"#, "lanes.0.baseURL: is required"),
      (
        #"[{name: "s", type: "smpp", systemID: "e", passwordFile: "password", from: "E"}]"#, "lanes.0.host: is required"
      ),
      (
        #"[{name: "s", type: "smpp", host: "h", systemID: "e", passwordFile: "password"}]"#,
        "lanes.0.from: is required"
      ),
      (
        "[{\(operatorLane), systemID: \"sixteen letters \"}]",
        "lanes.0.systemID: is longer than the 15 bytes that SMPP allows"
      ),
      (
        "[{\(operatorLane), systemID: \"x\", nationalShiftTables: true, defaultAlphabet: \"latin1\"}]",
        "lanes.0.nationalShiftTables: is not possible with this type"
      ),
      (
        #"[{name: "s", type: "smpp", host: "h", systemID: "e", passwordFile: "long", from: "E"}]"#,
        "lanes.0.passwordFile: holds a password of more than 64 bytes"
      ),
      ("[{\(operatorLane), systemType: \"thirteen char\"}]", "lanes.0.systemType: is longer than the 12 bytes"),
      (
        "[{\(operatorLane), encodingOfLongMessages: \"sar\"}]",
        "lanes.0.encodingOfLongMessages: must be one of udh, payload"
      ),
      (
        "[{\(operatorLane), addressing: {fromTON: 256}}]",
        "lanes.0.addressing.fromTON: must be a whole number from 0 to 255"
      ),
    ])
  func `A problem is reported with its key and a hint`(lanes: String, expected: String) throws {
    let text = try problems(lanes)
    #expect(text.contains(expected), "\(text)")
    #expect(!text.contains("sesame"))
  }

  @Test func `A misspelled type makes no problem of the keys that go with the right one`() throws {
    let text = try problems("[{\(Self.twilio)}]".replacing("twilio\", ", with: "twillio\", "))
    #expect(text.contains("lanes.0.type: must be one of twilio"), "\(text)")
    #expect(!text.contains("unknown key"), "\(text)")
  }

  @Test(
    arguments: [
      ("prefetsch: 3", "prefetsch: unknown key (did you mean prefetch?)"),
      ("templates: {directory: \"nowhere\"}", "templates.directory: cannot read the directory"),
      ("templates: {defaultLanguage: \"tlh\"}", "templates.defaultLanguage is 'tlh', but no template file serves it"),
      ("providersDirectory: \"nowhere\"", "providersDirectory: cannot read"),
      ("limits: {maxSegments: 99}", "limits.maxSegments: must be a whole number from 1 to 24"),
      ("ledger: {type: \"postgres\"}", "ledger.type: must be one of sqlite, postgresql, none"),
      ("templates: {appName: \"a\\nb\"}", "templates.appName: must be 1 to 64 printable characters"),
    ])
  func `Keys outside of the lanes`(rest: String, expected: String) throws {
    let text = try problems("[{\(Self.twilio)}]", rest)
    #expect(text.contains(expected), "\(text)")
  }

  @Test func `Without TLS: allowed to this machine, to another only where the configuration says so`() throws {
    for url in [
      "http://127.0.0.1:5700", "http://127.8.0.1", "http://localhost/", "http://[::1]:80/x", "https://example.com",
    ] {
      #expect(try load("[{\(Self.twilio), baseURL: \"\(url)\"}]").warnings.isEmpty, "\(url)")
    }
    let foreign = [
      "http://example.com", "http://10.0.0.1:80/", "http://localhost.example.com", "http://127.example.com",
      "http://127.0.0.1.example.com",
    ]
    for url in foreign {
      let said = try problems("[{\(Self.twilio), baseURL: \"\(url)\"}]")
      #expect(said.contains("lanes.0.baseURL: is http:// to another machine"), "\(url)")
      #expect(said.contains("set lanes.0.allowPlaintext to true"), "\(url)")
      let warnings = try load("[{\(Self.twilio), baseURL: \"\(url)\", allowPlaintext: true}]").warnings
      #expect(warnings.first?.description.contains("lanes.0.baseURL: is http:// to another machine") == true, "\(url)")
    }
  }

  @Test func `Reports over http:// come from this machine only, unless the configuration allows others`() throws {
    func receipts(_ url: String, _ more: String = "") -> String {
      "receipts: {publicURL: \"\(url)\", secretFile: \"secret\"\(more)}"
    }
    let lanes = "[{\(Self.twilio)}]"
    #expect(try load(lanes, receipts("http://127.0.0.1:8085")).warnings.isEmpty)
    #expect(try load(lanes, receipts("https://sms.example.com")).warnings.isEmpty)
    let said = try problems(lanes, receipts("http://sms.example.com"))
    #expect(said.contains("receipts.publicURL: is http:// over a network"))
    #expect(said.contains("set receipts.allowPlaintext to true"))
    #expect(try load(lanes, receipts("http://sms.example.com", ", allowPlaintext: true")).warnings.count == 1)
  }

  @Test
  func `A client has a part of the connections for reports, but on loopback, where the front is the only one, all`()
    throws
  {
    func connections(_ more: String) throws -> Int? {
      let receipts = "receipts: {publicURL: \"https://sms.example.com\", secretFile: \"secret\"\(more)}"
      return try load("[{\(Self.twilio)}]", receipts).content.reports.taking?.connectionsPerClient
    }
    #expect(try connections("") == 1_024)
    #expect(try connections(", host: \"::1\"") == 1_024)
    #expect(try connections(", host: \"0.0.0.0\"") == 128)
    #expect(try connections(", connectionsPerClient: 5") == 5)
    #expect(try connections(", host: \"0.0.0.0\", connectionsPerClient: 5") == 5)
  }

  @Test func `An SMPP lane`() throws {
    let loaded = try load("[{\(Self.operatorLane), systemID: \"esme\", tls: false}]")
    #expect(loaded.warnings.isEmpty)
    let smpp = try #require(loaded.content.lanes[0].provider as? SMPPProvider)
    let session = smpp.session(caFile: nil)
    #expect(session.bind == BindRequest(systemID: "esme", password: "sesame"))
    #expect(session.tls == nil)
    #expect(session.limits.window == 10)
    #expect(session.port == 2775)
    let lane = smpp.lane(hasSink: true)
    #expect(lane.source == ShortMessage.Address(ton: 1, npi: 1, text: "15005550006"))
    #expect(lane.wantsReceipts)
    #expect(!smpp.lane(hasSink: false).wantsReceipts)
    let encrypted = try load(
      "[{\(Self.operatorLane), systemID: \"esme\", caFile: \"ca.pem\", addressing: {fromTON: 0, fromNPI: 9, toTON: 2}}]"
    )
    let other = try #require(encrypted.content.lanes[0].provider as? SMPPProvider)
    #expect(other.session(caFile: "ca.pem").tls == SMPPTrust(caFile: "ca.pem"))
    #expect(other.lane(hasSink: true).source == ShortMessage.Address(ton: 0, npi: 9, text: "15005550006"))
    #expect(other.lane(hasSink: true).destinationTON == 2)
  }

  @Test func `SMPP without TLS to another machine is an error unless it is allowed`() throws {
    let lane = #"name: "s", type: "smpp", host: "smsc.example.net", systemID: "e", passwordFile: "password", from: "E""#
    let said = try problems("[{\(lane), tls: false}]")
    #expect(said.contains("lanes.0.tls: is false for a server on another machine"))
    #expect(said.contains("set lanes.0.allowPlaintext to true"))
    #expect(try problems("[{\(lane.replacing("smsc.", with: "127.")), tls: false}]").contains("lanes.0.tls"))
    #expect(try load("[{\(lane), tls: false, allowPlaintext: true}]").warnings.count == 1)
    #expect(try load("[{\(lane)}]").warnings.isEmpty)
    let long = try load("[{\(lane.replacing("\"password\"", with: "\"secret\""))}]").warnings
    #expect(long.first?.description.contains("lanes.0.passwordFile: holds a password of 38 bytes") == true)
  }

  @Test func `A worker that could open no secret does not start unless it is told to`() throws {
    #expect(throws: ConfigurationError.self) {
      try load("[{\(Self.twilio)}]", "", ["COUNTERSIGN_ALLOW_NO_KEYS": "false"])
    }
    #expect(
      try problems("[{\(Self.twilio)}]", "requireSealed: true").contains("requireSealed: is true without keysFile"))
  }

  @Test func `A prefetch that leaves slots empty is a warning`() throws {
    let warnings = try load("[{\(Self.twilio)}]", "prefetch: 63").warnings
    #expect(warnings.first?.description.contains("prefetch: is less than the sum") == true)
  }
}

@Suite struct ShippedConfigurationTests {
  private let file = Shipped.config + "/sms-worker.json5"

  @Test func `It is valid, once the secrets are there, and everything it names is in the repository`() throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let secret = try directory.write("sesame", to: "password")
    let loaded = try SMSWorkerConfiguration.load(
      file: file,
      environment: [
        "COUNTERSIGN_LANES_0_PASSWORD_FILE": secret, "COUNTERSIGN_BROKER_PASSWORD_FILE": secret,
        "COUNTERSIGN_ALLOW_NO_KEYS": "true",
      ])
    let dispatcher = try SMSDispatcher(loaded.content, keys: nil)
    #expect(dispatcher.lanes.map(\.name) == ["twilio"])
  }

  @Test func `It explains every key that the worker understands`() throws {
    let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    let lanes = SMSProviders.all.map { #"{type: "\#($0.typeName)"}"# }.joined(separator: ", ")
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let everyType = try directory.write("{lanes: [\(lanes)]}", to: "types.json5")
    let keys = try SMSWorkerConfiguration.keys(file: everyType).map(\.path)
    #expect(keys.contains { $0.hasSuffix(".addressing.fromTON") } && keys.contains { $0.hasSuffix(".signingKeyFile") })
    let unexplained = keys.filter { key in !text.contains("\(key.split(separator: ".").last ?? ""):") }
    #expect(unexplained.isEmpty)
  }
}
